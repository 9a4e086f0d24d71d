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
import { forecastRecovery } from '../../app/operations/forecast-recovery.ts'
import { recoverCell as recover } from '../../app/operations/recover-cell.ts'
import { requireMatch } from '../../http/entity-tag.ts'
import type { Handler } from '../../http/operation.ts'
import { cellTag, cellView } from '../../views/federation/cell.ts'
import { operationView } from '../../views/federation/operation.ts'

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
  await app.sharedSettings.changed()
  const cell = await findOperatedCell(app.db, cells, found.id)
  return { body: cellView(cell), headers: { ETag: cellTag(cell) } }
}

/** GET /v1/cells/{cell}/recovery */
export const explainRecovery: Handler<operations['explainRecovery']> = async (call) => {
  const { app, params, query } = call
  const cell = await findOperatedCell(app.db, app.compute.cells, params.cell)
  const forecast = await forecastRecovery(app.compute, cell, query.source ?? 'snapshot')
  return {
    body: {
      assumes_loss: forecast.assumesLoss,
      servers: forecast.servers.map(({ server, source, image, replicaCell, reason, ...to }) => ({
        server_id: server.id,
        name: server.name,
        project_id: server.projectId,
        source,
        image_id: image?.id ?? null,
        cell: to.cell,
        replica_cell: replicaCell,
        reason,
      })),
    },
  }
}

/** POST /v1/cells/{cell}/recovery */
export const recoverCell: Handler<operations['recoverCell']> = async (call) => {
  const { app, context, params, body, links, raw } = call
  const cell = await findOperatedCell(app.db, app.compute.cells, params.cell)
  const key = idempotencyKey(context, raw.header('idempotency-key'), [raw.path, body])
  const { source = 'snapshot', parallel = 10, reason = null } = body
  const operation = await recover(app.compute, context, cell, { source, parallel, reason }, key)
  const headers = { Location: links.to(`/federation/v1/operations/${operation.id}`) }
  return { body: operationView(operation, app.compute.cells), headers }
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
    recoverAfterS: body.recover_after_s,
  })
  await app.sharedSettings.changed()
  const cell = await findOperatedCell(app.db, cells, found.id)
  return { body: cellView(cell), headers: { ETag: cellTag(cell) } }
}
