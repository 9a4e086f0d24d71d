import type { operations } from '#openapi/federation.gen.ts'
import { repairServer as repair } from '../../../app/federation/repair-server.ts'
import type { Handler } from '../../../http/operation.ts'

/** POST /v1/servers/{server}/verification */
export const repairServer: Handler<operations['repairServer']> = async (call) => {
  const { app, context, params } = call
  const { serverId, findings } = await repair(app.compute, context, params.server)
  return { body: { server_id: serverId, findings: [...findings] } }
}
