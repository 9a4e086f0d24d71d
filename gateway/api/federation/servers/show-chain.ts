import type { operations } from '#openapi/federation.gen.ts'
import { chainOf } from '../../../app/federation/chain.ts'
import { findVisibleServer } from '../../../app/servers/show-server.ts'
import type { Handler } from '../../../http/operation.ts'

/** GET /v1/servers/{server}/chain */
export const showChain: Handler<operations['showChain']> = async ({ app, context, params }) => {
  const server = await findVisibleServer(app.db, context, params.server, true)
  const { above, below } = await chainOf(app.compute, context, server)
  return { body: { server_id: server.id, above, below } }
}
