import type { operations } from '#openapi/compute.gen.ts'
import { addressesOnNetwork } from '../../../app/servers/addresses-on-network.ts'
import type { Handler } from '../../../http/operation.ts'
import { networkAddressesView } from '../../../views/network-addresses.ts'

/** GET /servers/{server_id}/ips/{network_label} */
export const showServerAddresses: Handler<operations['showServerAddresses']> = async (call) => {
  const { app, context, params } = call
  const { server_id, network_label } = params
  const addresses = await addressesOnNetwork(app.db, context, server_id, network_label)
  return { body: networkAddressesView(addresses) }
}
