import type { operations } from '#openapi/federation.gen.ts'
import { adoptOrphan as adopt } from '../../../app/federation/adopt-orphan.ts'
import { findOperatedCell } from '../../../app/federation/cells.ts'
import type { Handler } from '../../../http/operation.ts'

/** POST /v1/cells/{cell}/orphans/{orphan}/adopt */
export const adoptOrphan: Handler<operations['adoptOrphan']> = async (call) => {
  const { app, context, params, body, links } = call
  const cell = await findOperatedCell(app.db, app.compute.cells, params.cell)
  const missing = await adopt(app, context, cell, params.orphan, body.project)
  const headers = { Location: links.to(`/compute/v2.1/servers/${params.orphan}`) }
  return { body: { server_id: params.orphan, missing: [...missing] }, headers }
}
