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

/**
 * Afterwards the cell's image cache has the image and keeps it for the server, and no other, or fetches it. Throws as
 * `imagePreload`.
 */
export async function imagePin(
  cell: Cell,
  { serverId, image, madeOf }: CellAsk<'image.pin'>,
): Promise<CellAnswer<'image.pin'>> {
  return cachesOf(cell).pin(serverId, image, madeOf)
}

/** Afterwards none of the cell's image caches keeps an image for the server. Throws `unavailable` while one does not answer. */
export async function imageUnpin(
  cell: Cell,
  { serverId }: CellAsk<'image.unpin'>,
): Promise<CellAnswer<'image.unpin'>> {
  await cachesOf(cell).unpin(serverId)
  return {}
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
