import type { operations } from '#openapi/federation.gen.ts'
import { declareLost } from '../../app/cells/declare-lost.ts'
import { leave } from '../../app/cells/leave-cell.ts'
import {
  findOperatedCell,
  listOperatedCells,
  updateCell as update,
} from '../../app/cells/operated-cells.ts'
import { idempotencyKey } from '../../app/idempotency-key.ts'
import { findEarlierResult } from '../../app/once-per-key.ts'
import { requireMatch } from '../../http/entity-tag.ts'
import type { Handler } from '../../http/operation.ts'
import { cellTag, cellView } from '../../views/federation/cell.ts'

/** POST /v1/cells/{cell}/lost */
export const declareCellLost: Handler<operations['declareCellLost']> = async (call) => {
  const { app, context, params, body, raw } = call
  const { cells } = app.compute
  const found = await findOperatedCell(app.db, cells, params.cell)
  const key = idempotencyKey(context, raw.header('idempotency-key'), [raw.path, body])
  // A repeat names the cell as it was before.
  if ((await findEarlierResult(app.db, key)) === undefined)
    requireMatch(raw.header('if-match'), cellTag(found))
  const { db, access } = app
  const loss = { by: context.userId, statement: body.statement }
  await declareLost({ db, access, clock: app.compute.clock }, found, loss, key)
  await cells.refresh()
  const cell = await findOperatedCell(app.db, cells, found.id)
  return { body: cellView(cell), headers: { ETag: cellTag(cell) } }
}

/** DELETE /v1/cells/{cell} */
export const deleteCell: Handler<operations['deleteCell']> = async (call) => {
  const { app, params, query, raw } = call
  const cell = await findOperatedCell(app.db, app.compute.cells, params.cell)
  requireMatch(raw.header('if-match'), cellTag(cell))
  const { db, access } = app
  await leave({ db, access, clock: app.compute.clock }, cell, query.forget === true)
  return {}
}

/** GET /v1/cells */
export const listCells: Handler<operations['listCells']> = async ({ app }) => {
  const cells = await listOperatedCells(app.db, app.compute.cells)
  return { body: { cells: cells.map(cellView) } }
}

/** GET /v1/cells/{cell} */
export const showCell: Handler<operations['showCell']> = async ({ app, params }) => {
  const cell = await findOperatedCell(app.db, app.compute.cells, params.cell)
  return { body: cellView(cell), headers: { ETag: cellTag(cell) } }
}

/** PATCH /v1/cells/{cell} */
export const updateCell: Handler<operations['updateCell']> = async (call) => {
  const { app, params, body, raw } = call
  const { cells } = app.compute
  const found = await findOperatedCell(app.db, cells, params.cell)
  requireMatch(raw.header('if-match'), cellTag(found))
  await update(app.db, found, {
    isEnabled: body.is_enabled,
    disabledReason: body.disabled_reason,
    weight: body.weight,
    transportZone: body.transport_zone,
    labels: body.labels,
    taints: body.taints,
  })
  await cells.refresh()
  const cell = await findOperatedCell(app.db, cells, found.id)
  return { body: cellView(cell), headers: { ETag: cellTag(cell) } }
}
