import { apiStatus } from '#common/states/instance-states.ts'
import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedHost, hostServerPage } from '../../../app/federation/hosts.ts'
import type { Handler } from '../../../http/operation.ts'

const LIMIT = 1_000

/** GET /v1/hosts/{host}/servers */
export const listHostServers: Handler<operations['listHostServers']> = async (call) => {
  const { app, params, query } = call
  const { limit = LIMIT, cursor } = query
  const host = await findOperatedHost(app.db, params.host)
  const { servers, next } = await hostServerPage(app.db, host, { limit, cursor })
  return {
    body: {
      servers: servers.map(({ id, name, projectId, vmState, taskState }) => ({
        id,
        name,
        project_id: projectId,
        status: apiStatus(vmState, taskState),
      })),
      next,
    },
  }
}
