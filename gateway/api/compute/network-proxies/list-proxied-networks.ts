import type { operations } from '#openapi/compute.gen.ts'
import { usableNetworks } from '../../../app/networks/usable-networks.ts'
import type { Handler } from '../../../http/operation.ts'
import { proxiedNetworkView } from '../../../views/proxied-network.ts'

/** GET /os-networks */
export const listProxiedNetworks: Handler<operations['listProxiedNetworks']> = async (call) => {
  const { app, context } = call
  const networks = await usableNetworks(app.networks, context)
  return { body: { networks: networks.map((network) => proxiedNetworkView(network, context)) } }
}
