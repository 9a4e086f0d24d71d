import type { operations } from '#openapi/network.gen.ts'
import { deleteNetwork as remove } from '../../../app/networks/delete-network.ts'
import type { Handler } from '../../../http/operation.ts'
import { wantedRevision } from '../wanted-revision.ts'

/** DELETE /v2.0/networks/{network_id} */
export const deleteNetwork: Handler<operations['deleteNetwork']> = async (call) => {
  const { app, context, params, raw } = call
  await remove(app.networks, context, params.network_id, wantedRevision(raw))
  return {}
}
