import type { operations } from '#openapi/compute.gen.ts'
import { addFixedIp } from '../../../../app/servers/fixed-ips.ts'
import type { Handler } from '../../../../http/operation.ts'

export const addServerFixedIp: Handler<operations['addServerFixedIp']> = async (call) => {
  const { app, context, params, body } = call
  await addFixedIp(app.networks, context, params.server_id, String(body.addFixedIp.networkId))
  return {}
}
