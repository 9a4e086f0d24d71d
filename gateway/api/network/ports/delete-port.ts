import type { operations } from '#openapi/network.gen.ts'
import { deletePort as remove } from '../../../app/networks/delete-port.ts'
import type { Handler } from '../../../http/operation.ts'
import { wantedRevision } from '../wanted-revision.ts'

/** DELETE /v2.0/ports/{port_id} */
export const deletePort: Handler<operations['deletePort']> = async (call) => {
  const { app, context, params, raw } = call
  await remove(app.networks, context, params.port_id, wantedRevision(raw))
  return {}
}
