import type { operations } from '#openapi/compute.gen.ts'
import { detachInterface } from '../../../app/servers/detach-interface.ts'
import type { Handler } from '../../../http/operation.ts'

/** DELETE /servers/{server_id}/os-interface/{port_id} */
export const detachServerInterface: Handler<operations['detachServerInterface']> = async (call) => {
  const { app, context, params } = call
  await detachInterface(app.compute, context, params.server_id, params.port_id)
  return {}
}
