import type { operations } from '#openapi/compute.gen.ts'
import { usableNetwork } from '../../../app/networks/usable-networks.ts'
import type { Handler } from '../../../http/operation.ts'
import { proxiedNetworkView } from '../../../views/proxied-network.ts'

/** GET /os-networks/{network_id} */
export const showProxiedNetwork: Handler<operations['showProxiedNetwork']> = async (call) => {
  const { app, context, params } = call
  const network = await usableNetwork(app.networks, context, params.network_id)
  return { body: { network: proxiedNetworkView(network, context) } }
}
