import { refuseAction } from '../../../../app/servers/refuse-action.ts'
import { showServer } from '../../../../app/servers/show-server.ts'
import type { Handler } from '../../../../http/operation.ts'

/** Servers are deleted at once, as in a Nova that keeps none for later, so no server is in a state to be restored. */
export const restoreServer: Handler = async (call) => {
  const server = await showServer(call.app.db, call.context, call.params['server_id']!)
  refuseAction(server, call.context, 'restore')
  throw new Error(`Server ${server.id} is in a state that nothing leads to`)
}
