import pLimit from 'p-limit'
import type { WorkContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import type { Cell } from '../../cell-client/cell.ts'
import type { ImageContent } from '../../db/image.ts'
import { findImage } from '../../db/images.ts'
import type { ComputeDeps } from '../compute.ts'
import { reachable } from '../hosts/host-state.ts'
import { foundIdOf } from './named.ts'
import type { PreloadedImage } from './preload-image.ts'

const AT_ONCE = 16

/** A cell that did not answer, and the reason. */
export interface UnreachableCell {
  readonly cell: Cell
  readonly reason: string
}

export interface ImageCacheCopies {
  readonly imageId: string
  readonly caches: readonly PreloadedImage[]
  readonly unreachable: readonly UnreachableCell[]
}

/**
 * Which cells have the image in a cache or fetch it, as each of them says now. Throws `not-found` for an image that is not
 * there, `conflict` for a name of several.
 */
export async function imageCaches(
  deps: Pick<ComputeDeps, 'db' | 'cells' | 'askCell'>,
  work: WorkContext,
  image: string,
): Promise<ImageCacheCopies> {
  const imageId = await foundIdOf(deps.db, 'image', image)
  const content = (await findImage(deps.db, imageId))?.content ?? null
  if (content === null) return { imageId, caches: [], unreachable: [] }
  const cells = deps.cells.cells().filter(({ isLost }) => !isLost)
  const answers = await pLimit(AT_ONCE).map(cells, (cell) =>
    cachedIn(deps, work, cell, { imageId, content }),
  )
  return {
    imageId,
    caches: answers.filter((answer) => answer !== undefined && 'state' in answer),
    unreachable: answers.filter((answer) => answer !== undefined && 'reason' in answer),
  }
}

/** Undefined for a cell that does not have it, or has no cache. */
async function cachedIn(
  { askCell }: Pick<ComputeDeps, 'askCell'>,
  work: WorkContext,
  cell: Cell,
  { imageId, content }: { readonly imageId: string; readonly content: ImageContent },
): Promise<PreloadedImage | UnreachableCell | undefined> {
  const { sizeBytes, sha256 } = content
  const ask = { id: imageId, sizeBytes, sha256 }
  try {
    const answer = await askCell(reachable(cell), 'image.cached', ask, { work })
    const { state, fetchedBytes } = answer
    return state === 'absent' ? undefined : { imageId, sizeBytes, cell, state, fetchedBytes }
  } catch (error) {
    if (isFailure(error, 'unsupported')) return undefined
    if (!isFailure(error)) throw error
    return { cell, reason: error.message }
  }
}
