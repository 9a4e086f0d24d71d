import type { operations } from '#openapi/network.gen.ts'
import { updateSubnet as update } from '../../../app/networks/update-subnet.ts'
import type { Handler } from '../../../http/operation.ts'
import { subnetView } from '../../../views/network/subnet.ts'
import { wantedRevision } from '../wanted-revision.ts'

/** PUT /v2.0/subnets/{subnet_id} */
export const updateSubnet: Handler<operations['updateSubnet']> = async (call) => {
  const { app, context, params, body, raw } = call
  const changed = await update(
    app.networks,
    context,
    params.subnet_id,
    body.subnet,
    wantedRevision(raw),
  )
  return { body: { subnet: subnetView(changed) } }
}
