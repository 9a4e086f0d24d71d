import type { operations } from '#openapi/federation.gen.ts'
import { traceOfVolume } from '../../app/federation/volume-trace.ts'
import { idempotencyKey } from '../../app/idempotency-key.ts'
import { moveVolumeTo as moveTo } from '../../app/operations/move-volume.ts'
import type { Handler } from '../../http/operation.ts'
import { decisionViews } from '../../views/federation/decision.ts'
import { operationView } from '../../views/federation/operation.ts'

/** POST /v1/volumes/{volume}/move */
export const moveVolume: Handler<operations['moveVolume']> = async (call) => {
  const { app, context, params, body, links, raw } = call
  const key = idempotencyKey(context, raw.header('idempotency-key'), [raw.path, body])
  const operation = await moveTo(app.compute, context, params.volume, body, key)
  const headers = { Location: links.to(`/federation/v1/operations/${operation.id}`) }
  return { body: operationView(operation, app.compute.cells), headers }
}

/** GET /v1/volumes/{volume}/trace */
export const showVolumeTrace: Handler<operations['showVolumeTrace']> = async ({ app, params }) => {
  const { volume, decisions } = await traceOfVolume(app.compute, params.volume)
  const { id, name, projectId, cellId, storeName, status, fault } = volume
  const cell = cellId === null ? null : (app.compute.cells.cell(cellId)?.name ?? null)
  return {
    body: {
      ...{ volume_id: id, name, project_id: projectId, cell_id: cellId, cell, store: storeName },
      ...{ status, fault, decisions: decisionViews(decisions) },
    },
  }
}
