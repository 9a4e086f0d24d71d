import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell } from '../../../app/federation/cells.ts'
import { leave } from '../../../app/federation/leave.ts'
import { requireMatch } from '../../../http/entity-tag.ts'
import type { Handler } from '../../../http/operation.ts'
import { cellTag } from '../../../views/federation/cell.ts'

/** DELETE /v1/cells/{cell} */
export const deleteCell: Handler<operations['deleteCell']> = async (call) => {
  const { app, params, query, raw } = call
  const cell = await findOperatedCell(app.db, app.compute.cells, params.cell)
  requireMatch(raw.header('if-match'), cellTag(cell))
  const { db, access } = app
  await leave({ db, access, clock: app.compute.clock }, cell, query.forget === true)
  return {}
}
