import type { operations } from '#openapi/compute.gen.ts'
import { showServer } from '../../../app/servers/show-server.ts'
import type { Handler } from '../../../http/operation.ts'
import { networkAddressesView } from '../../../views/network-addresses.ts'

/** GET /servers/{server_id}/ips */
export const listServerAddresses: Handler<operations['listServerAddresses']> = async (call) => {
  const { app, context, params } = call
  const { addresses } = await showServer(app.db, context, params.server_id)
  return { body: { addresses: networkAddressesView(addresses) } }
}
