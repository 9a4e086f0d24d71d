import type { operations } from '#openapi/compute.gen.ts'
import { serverInterfaces } from '../../../app/servers/server-interfaces.ts'
import type { Handler } from '../../../http/operation.ts'
import { interfaceView } from '../../../views/interface-attachment.ts'

/** GET /servers/{server_id}/os-interface */
export const listServerInterfaces: Handler<operations['listServerInterfaces']> = async (call) => {
  const { app, context, params } = call
  const ports = await serverInterfaces(app.db, context, params.server_id)
  return { body: { interfaceAttachments: ports.map(interfaceView) } }
}
