import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedHost } from '../../../app/federation/hosts.ts'
import { listStrangers as list } from '../../../app/federation/strangers.ts'
import type { Handler } from '../../../http/operation.ts'
import { strangerView } from '../../../views/federation/stranger.ts'

/** GET /v1/hosts/{host}/guests */
export const listStrangers: Handler<operations['listStrangers']> = async (call) => {
  const { app, context, params } = call
  const host = await findOperatedHost(app.db, params.host)
  const guests = await list(app.compute, context, host)
  return { body: { guests: guests.map(strangerView) } }
}
