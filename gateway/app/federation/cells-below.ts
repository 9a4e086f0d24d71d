import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import type { WireCellsBelow } from '#openapi/wire/lookup.ts'
import type { HostRecord } from '../../db/host-list.ts'
import type { ComputeDeps } from '../compute.ts'
import { reachable } from '../hosts/host-state.ts'

interface Asked {
  /** Ids of hosts that are clouds, each in the cloud before it. */
  readonly through: readonly string[]
  /** The cells of other clouds that the question came through. */
  readonly via: readonly string[]
}

/**
 * The cells of the cloud that is this host, or of the last of the clouds below it that are named, as far as that cloud shows
 * them to the account that its host has there. Throws `conflict` for a host that is no cloud and for clouds that form a ring,
 * `unavailable` while a host or a cloud on the way does not answer.
 */
export async function cellsBelow(
  { cells, askHost }: Pick<ComputeDeps, 'cells' | 'askHost'>,
  work: WorkContext,
  { cellId, view }: HostRecord,
  { through, via }: Asked,
): Promise<WireCellsBelow> {
  if (!view.capabilities.includes('below'))
    throw new Failure(
      'conflict',
      `Host ${view.name} (${view.driver}) is no cloud and has no cells.`,
    )
  const cell = reachable(cells.cell(cellId))
  const asked = { through: [...through], via: [...via] }
  return askHost(cell, view.hostId as HostId, 'cells-below', asked, work)
}
