import type { operations } from '#openapi/compute.gen.ts'
import { attachInterface } from '../../../app/servers/attach-interface.ts'
import type { Handler } from '../../../http/operation.ts'
import { interfaceView } from '../../../views/interface-attachment.ts'

/** POST /servers/{server_id}/os-interface */
export const attachServerInterface: Handler<operations['attachServerInterface']> = async (call) => {
  const { app, context, params, body } = call
  const { net_id, port_id, fixed_ips, tag } = body.interfaceAttachment ?? {}
  const port = await attachInterface(app, context, params.server_id, {
    networkId: net_id,
    portId: port_id,
    fixedIp: fixed_ips?.[0]?.ip_address,
    tag,
  })
  return { body: { interfaceAttachment: interfaceView(port) } }
}
