import { refuseAction } from '../../../../app/servers/refuse-action.ts'
import { showServer } from '../../../../app/servers/show-server.ts'
import type { Handler } from '../../../../http/operation.ts'

/** No driver puts network settings into a running guest, nor does any of Nova's that is left: what it needs is checked. */
export const injectNetworkInfo: Handler = async (call) => {
  const server = await showServer(call.app.db, call.context, call.params['server_id']!)
  refuseAction(server, call.context, 'inject-network-info')
  return {}
}
