import type { operations } from '#openapi/network.gen.ts'
import { deleteSubnet as remove } from '../../../app/networks/delete-subnet.ts'
import type { Handler } from '../../../http/operation.ts'
import { wantedRevision } from '../wanted-revision.ts'

/** DELETE /v2.0/subnets/{subnet_id} */
export const deleteSubnet: Handler<operations['deleteSubnet']> = async (call) => {
  const { app, context, params, raw } = call
  await remove(app.networks, context, params.subnet_id, wantedRevision(raw))
  return {}
}
