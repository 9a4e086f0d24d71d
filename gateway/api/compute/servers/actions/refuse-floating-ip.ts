import { Failure } from '#common/errors.ts'
import { showServer } from '../../../../app/servers/show-server.ts'
import type { Handler } from '../../../../http/operation.ts'

/** addFloatingIp and removeFloatingIp: without routers there is no floating IP to be found. */
export const refuseFloatingIp: Handler = async ({ app, context, params }) => {
  await showServer(app.db, context, params['server_id']!)
  throw new Failure('not-found', 'floating IP not found')
}
