import type { operations } from '#openapi/network.gen.ts'
import { createNetwork as create } from '../../../app/networks/create-network.ts'
import type { Handler } from '../../../http/operation.ts'
import { networkView } from '../../../views/network/network.ts'

/** POST /v2.0/networks */
export const createNetwork: Handler<operations['createNetwork']> = async (call) => {
  const { app, context, body } = call
  const created = await create(app.networks, context, body.network)
  return { body: { network: networkView(created, context) } }
}
