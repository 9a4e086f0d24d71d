import type { operations } from '#openapi/network.gen.ts'
import { visibleNetwork } from '../../../app/networks/visible.ts'
import type { Handler } from '../../../http/operation.ts'
import { networkView } from '../../../views/network/network.ts'
import { pick } from '../pick.ts'

/** GET /v2.0/networks/{network_id} */
export const showNetwork: Handler<operations['showNetwork']> = async (call) => {
  const { app, context, params, query } = call
  const found = await visibleNetwork(app.networks, context, params.network_id)
  return { body: { network: pick(networkView(found, context), query.fields) } }
}
