import type { operations } from '#openapi/compute.gen.ts'
import { usableNetworks } from '../../../app/networks/usable-networks.ts'
import type { Handler } from '../../../http/operation.ts'
import { tenantNetworkView } from '../../../views/proxied-network.ts'

/** GET /os-tenant-networks */
export const listTenantNetworks: Handler<operations['listTenantNetworks']> = async (call) => {
  const { app, context } = call
  const networks = await usableNetworks(app.networks, context)
  return { body: { networks: networks.map((network) => tenantNetworkView(network)) } }
}
