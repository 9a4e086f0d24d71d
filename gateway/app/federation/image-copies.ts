import pLimit from 'p-limit'
import type { WorkContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import type { WireImageCopy } from '#openapi/wire/lookup.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { type HostRecord, listHosts } from '../../db/host-list.ts'
import { findImage } from '../../db/images.ts'
import type { ComputeDeps } from '../compute.ts'
import { reachable } from '../hosts/host-state.ts'
import { foundIdOf } from './named.ts'

const AT_ONCE = 16

export interface HostCopy extends WireImageCopy {
  readonly cell: Cell
  readonly host: HostRecord
}

/** A host that did not answer, and the reason. */
export interface UnreachableHost {
  readonly host: HostRecord
  readonly reason: string
}

export interface ImageCopies {
  readonly imageId: string
  readonly copies: readonly HostCopy[]
  readonly unreachable: readonly UnreachableHost[]
}

interface Question {
  /** Its id or name. */
  readonly image: string
  /** The id of the cell whose hosts are asked; absent: all. */
  readonly cellId?: string | undefined
}

/**
 * Which hosts have the image, as each of them says now. Throws `not-found` for an image that is not there, `conflict` for
 * a name of several.
 */
export async function imageCopies(
  deps: Pick<ComputeDeps, 'db' | 'cells' | 'askHost'>,
  work: WorkContext,
  { image, cellId }: Question,
): Promise<ImageCopies> {
  const { db } = deps
  const imageId = await foundIdOf(db, 'image', image)
  const sha256 = (await findImage(db, imageId))?.content?.sha256
  if (sha256 === undefined) return { imageId, copies: [], unreachable: [] }
  const hosts = (await listHosts(db)).filter(
    ({ view, ...host }) =>
      view.capabilities.includes('imageCopies') && (cellId ?? host.cellId) === host.cellId,
  )
  const limit = pLimit(AT_ONCE)
  const answers = await limit.map(hosts, (host) => copyOn(deps, work, host, { imageId, sha256 }))
  return {
    imageId,
    copies: answers.filter((answer) => answer !== undefined && 'sizeBytes' in answer),
    unreachable: answers.filter((answer) => answer !== undefined && 'reason' in answer),
  }
}

async function copyOn(
  { cells, askHost }: Pick<ComputeDeps, 'cells' | 'askHost'>,
  work: WorkContext,
  host: HostRecord,
  ask: { readonly imageId: string; readonly sha256: string },
): Promise<HostCopy | UnreachableHost | undefined> {
  try {
    const cell = reachable(cells.cell(host.cellId))
    const { copy } = await askHost(cell, host.view.hostId as HostId, 'image-find', ask, work)
    return copy === null ? undefined : { ...copy, cell, host }
  } catch (error) {
    if (!isFailure(error)) throw error
    return { host, reason: error.message }
  }
}
