import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { CellAnswer } from '#openapi/wire/cell.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { findImage } from '../../db/images.ts'
import { findOperatedCell } from '../cells/operated-cells.ts'
import type { ComputeDeps } from '../compute.ts'
import { reachable } from '../hosts/host-state.ts'
import { foundIdOf } from './named.ts'

export interface PreloadedImage extends CellAnswer<'image.preload'> {
  readonly imageId: string
  readonly sizeBytes: number
  readonly cell: Cell
}

/**
 * Afterwards the image cache of the cell has the image, or fetches it. Throws `not-found` for an image or cell that is not
 * there, `conflict` for an image without content, `unsupported` for a cell without a cache, `unavailable` for a cell or
 * cache that does not answer.
 */
export async function preloadImage(
  deps: Pick<ComputeDeps, 'db' | 'cells' | 'askCell' | 'imageTicket'>,
  work: WorkContext,
  asked: { readonly image: string; readonly cell: string },
): Promise<PreloadedImage> {
  const { db, cells } = deps
  const imageId = await foundIdOf(db, 'image', asked.image)
  const cell = reachable((await findOperatedCell(db, cells, asked.cell)).reported)
  const content = (await findImage(db, imageId))?.content
  if (!content) throw new Failure('conflict', `Image ${asked.image} has no content yet.`)
  const { sizeBytes, sha256 } = content
  const file = { id: imageId, sizeBytes, sha256, ticket: deps.imageTicket(imageId, cell.id) }
  const answer = await deps.askCell(cell, 'image.preload', file, { work })
  return { ...answer, imageId, sizeBytes, cell }
}
