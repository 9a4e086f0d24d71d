import type { operations } from '#openapi/federation.gen.ts'
import { adoptOrphan as adopt } from '../../app/adoption/adopt-orphan.ts'
import { endOrphan as end, listOrphans as list } from '../../app/adoption/orphans.ts'
import { findOperatedCell } from '../../app/cells/operated-cells.ts'
import type { Handler } from '../../http/operation.ts'

/** POST /v1/cells/{cell}/orphans/{orphan}/adopt */
export const adoptOrphan: Handler<operations['adoptOrphan']> = async (call) => {
  const { app, context, params, body, links } = call
  const cell = await findOperatedCell(app.db, app.compute.cells, params.cell)
  const missing = await adopt(app, context, cell, params.orphan, body.project)
  const headers = { Location: links.to(`/compute/v2.1/servers/${params.orphan}`) }
  return { body: { server_id: params.orphan, missing: [...missing] }, headers }
}

/** DELETE /v1/cells/{cell}/orphans/{orphan} */
export const endOrphan: Handler<operations['endOrphan']> = async ({ app, context, params }) => {
  const cell = await findOperatedCell(app.db, app.compute.cells, params.cell)
  await end(app.compute, context, cell, params.orphan)
  return {}
}

/** GET /v1/cells/{cell}/orphans */
export const listOrphans: Handler<operations['listOrphans']> = async (call) => {
  const { app, context, params } = call
  const cell = await findOperatedCell(app.db, app.compute.cells, params.cell)
  const orphans = await list(app.compute, context, cell)
  return {
    body: {
      orphans: orphans.map(({ serverId, instanceName, host, vmState, launchedAt }) => ({
        id: serverId,
        name: instanceName,
        host,
        state: vmState,
        launched_at: launchedAt === null ? null : new Date(launchedAt).toISOString(),
      })),
    },
  }
}
