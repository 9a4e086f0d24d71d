import type { operations } from '#openapi/federation.gen.ts'
import { adoptGuest as adopt } from '../../../app/federation/adopt-guest.ts'
import { findOperatedHost } from '../../../app/federation/hosts.ts'
import { idempotencyKey } from '../../../app/idempotency-key.ts'
import type { Handler } from '../../../http/operation.ts'

/** POST /v1/hosts/{host}/adopt */
export const adoptGuest: Handler<operations['adoptGuest']> = async (call) => {
  const { app, context, params, body, links, raw } = call
  const host = await findOperatedHost(app.db, params.host)
  const key = idempotencyKey(context, raw.header('idempotency-key'), [raw.path, body])
  const serverId = await adopt(app, context, host, body, key)
  const headers = { Location: links.to(`/compute/v2.1/servers/${serverId}`) }
  return { body: { server_id: serverId }, headers }
}
