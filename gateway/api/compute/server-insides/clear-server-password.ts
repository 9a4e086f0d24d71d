import { showServer } from '../../../app/servers/show-server.ts'
import type { Handler } from '../../../http/operation.ts'

/** None is ever kept, see `showServerPassword`. */
export const clearServerPassword: Handler = async (call) => {
  await showServer(call.app.db, call.context, call.params['server_id']!)
  return {}
}
