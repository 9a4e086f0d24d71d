import type { operations } from '#openapi/network.gen.ts'
import { visibleSubnet } from '../../../app/networks/visible.ts'
import type { Handler } from '../../../http/operation.ts'
import { subnetView } from '../../../views/network/subnet.ts'
import { pick } from '../pick.ts'

/** GET /v2.0/subnets/{subnet_id} */
export const showSubnet: Handler<operations['showSubnet']> = async (call) => {
  const { app, context, params, query } = call
  const found = await visibleSubnet(app.networks, context, params.subnet_id)
  return { body: { subnet: pick(subnetView(found), query.fields) } }
}
