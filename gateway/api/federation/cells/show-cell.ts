import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell } from '../../../app/federation/cells.ts'
import type { Handler } from '../../../http/operation.ts'
import { cellTag, cellView } from '../../../views/federation/cell.ts'

/** GET /v1/cells/{cell} */
export const showCell: Handler<operations['showCell']> = async ({ app, params }) => {
  const cell = await findOperatedCell(app.db, app.compute.cells, params.cell)
  return { body: cellView(cell), headers: { ETag: cellTag(cell) } }
}
