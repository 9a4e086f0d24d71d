import type { operations } from '#openapi/federation.gen.ts'
import { listOperatedCells } from '../../../app/federation/cells.ts'
import type { Handler } from '../../../http/operation.ts'
import { cellView } from '../../../views/federation/cell.ts'

/** GET /v1/cells */
export const listCells: Handler<operations['listCells']> = async ({ app }) => {
  const cells = await listOperatedCells(app.db, app.compute.cells)
  return { body: { cells: cells.map(cellView) } }
}
