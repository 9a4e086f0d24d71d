import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell } from '../../../app/federation/cells.ts'
import { listOrphans as list } from '../../../app/federation/orphans.ts'
import type { Handler } from '../../../http/operation.ts'

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
