import type { operations } from '#openapi/federation.gen.ts'
import { verifyServer as verify } from '../../../app/federation/verify-server.ts'
import type { Handler } from '../../../http/operation.ts'

/** GET /v1/servers/{server}/verification */
export const verifyServer: Handler<operations['verifyServer']> = async (call) => {
  const { app, context, params } = call
  const { serverId, findings } = await verify(app.compute, context, params.server)
  return { body: { server_id: serverId, findings: [...findings] } }
}
