import { refuseFloatingIp as refuse } from '../../../../app/servers/fixed-ips.ts'
import type { Handler } from '../../../../http/operation.ts'

interface Asked {
  readonly addFloatingIp?: { readonly fixed_address?: string }
}

/** addFloatingIp and removeFloatingIp: without routers there is no floating IP to be found. */
export const refuseFloatingIp: Handler = async ({ app, context, params, body }) => {
  const { addFloatingIp } = body as Asked
  await refuse(app.db, context, params['server_id']!, addFloatingIp)
  return {}
}
