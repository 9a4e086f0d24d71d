import type { operations } from '#openapi/compute.gen.ts'
import { serverInterface } from '../../../app/servers/server-interfaces.ts'
import type { Handler } from '../../../http/operation.ts'
import { interfaceView } from '../../../views/interface-attachment.ts'

/** GET /servers/{server_id}/os-interface/{port_id} */
export const showServerInterface: Handler<operations['showServerInterface']> = async (call) => {
  const { app, context, params } = call
  const port = await serverInterface(app.db, context, params.server_id, params.port_id)
  return { body: { interfaceAttachment: interfaceView(port) } }
}
