import type { operations } from '#openapi/federation.gen.ts'
import { adoptGuest as adopt } from '../../../app/federation/adopt-guest.ts'
import { findOperatedHost } from '../../../app/federation/hosts.ts'
import type { Handler } from '../../../http/operation.ts'

/** POST /v1/hosts/{host}/adopt */
export const adoptGuest: Handler<operations['adoptGuest']> = async (call) => {
  const { app, context, params, body, links } = call
  const host = await findOperatedHost(app.db, params.host)
  const serverId = await adopt(app, context, host, body)
  const headers = { Location: links.to(`/compute/v2.1/servers/${serverId}`) }
  return { body: { server_id: serverId }, headers }
}
