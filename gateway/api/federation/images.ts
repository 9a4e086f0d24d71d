import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell } from '../../app/cells/operated-cells.ts'
import { imageCopies } from '../../app/federation/image-copies.ts'
import type { Handler } from '../../http/operation.ts'
import { imageCopyView, unreachableHostView } from '../../views/federation/image-copy.ts'

/** GET /v1/images/{image}/copies */
export const listImageCopies: Handler<operations['listImageCopies']> = async (call) => {
  const { app, context, params, query } = call
  const { cells } = app.compute
  const cellId =
    query.cell === undefined ? undefined : (await findOperatedCell(app.db, cells, query.cell)).id
  const asked = { image: params.image, cellId }
  const { imageId, copies, unreachable } = await imageCopies(app.compute, context, asked)
  const hosts = unreachable.map(unreachableHostView)
  return {
    body: {
      image_id: imageId,
      copies: copies.map(imageCopyView),
      unreachable: hosts,
      silent: hosts,
    },
  }
}
