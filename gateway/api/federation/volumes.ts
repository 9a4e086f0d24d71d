import type { operations } from '#openapi/federation.gen.ts'
import { traceOfVolume } from '../../app/federation/volume-trace.ts'
import type { Handler } from '../../http/operation.ts'
import { decisionViews } from '../../views/federation/decision.ts'

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
