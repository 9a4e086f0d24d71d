import type { operations } from '#openapi/compute.gen.ts'
import { showServer } from '../../../app/servers/show-server.ts'
import type { Handler } from '../../../http/operation.ts'

/** No driver lays guests out on nodes: it is left to the host, which Nova shows so. */
export const showServerTopology: Handler<operations['showServerTopology']> = async (call) => {
  await showServer(call.app.db, call.context, call.params.server_id)
  return { body: { nodes: [], pagesize_kb: null } }
}
