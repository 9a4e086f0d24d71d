import type { operations } from '#openapi/compute.gen.ts'
import { removeFixedIp } from '../../../../app/servers/fixed-ips.ts'
import type { Handler } from '../../../../http/operation.ts'

export const removeServerFixedIp: Handler<operations['removeServerFixedIp']> = async (call) => {
  const { app, context, params, body } = call
  await removeFixedIp(app.networks, context, params.server_id, body.removeFixedIp.address)
  return {}
}
