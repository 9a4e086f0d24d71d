import type { operations } from '#openapi/compute.gen.ts'
import { usableNetwork } from '../../../app/networks/usable-networks.ts'
import type { Handler } from '../../../http/operation.ts'
import { tenantNetworkView } from '../../../views/proxied-network.ts'

/** GET /os-tenant-networks/{network_id} */
export const showTenantNetwork: Handler<operations['showTenantNetwork']> = async (call) => {
  const { app, context, params } = call
  const network = await usableNetwork(app.networks, context, params.network_id)
  return { body: { network: tenantNetworkView(network) } }
}
