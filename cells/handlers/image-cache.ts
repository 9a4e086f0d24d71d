import { Failure } from '#common/errors.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import type { ImageCaches } from '../images/image-caches.ts'

/**
 * Afterwards the cell's image cache has the image, or fetches it. Throws `unsupported` in a cell without a cache,
 * `unavailable` when none can fetch it now.
 */
export async function imagePreload(
  cell: Cell,
  image: CellAsk<'image.preload'>,
): Promise<CellAnswer<'image.preload'>> {
  return cachesOf(cell).preload(image)
}

/** Whether a cache of the cell has the image. Throws `unsupported` in a cell without a cache, `unavailable` when none answers. */
export async function imageCached(
  cell: Cell,
  image: CellAsk<'image.cached'>,
): Promise<CellAnswer<'image.cached'>> {
  return cachesOf(cell).find(image)
}

function cachesOf({ conductor }: Cell): ImageCaches {
  if (conductor.imageCaches !== undefined) return conductor.imageCaches
  throw new Failure(
    'unsupported',
    'The cell has no image cache. Set CELL_IMAGE_CACHE_DIRECTORY for a process of the cell.',
  )
}
