import type { operations } from '#openapi/network.gen.ts'
import { createSubnet as create } from '../../../app/networks/create-subnet.ts'
import type { Handler } from '../../../http/operation.ts'
import { subnetView } from '../../../views/network/subnet.ts'

/** POST /v2.0/subnets */
export const createSubnet: Handler<operations['createSubnet']> = async (call) => {
  const { app, context, body } = call
  const created = await create(app.networks, context, body.subnet)
  return { body: { subnet: subnetView(created) } }
}
