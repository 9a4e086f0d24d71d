import type { operations } from '#openapi/compute.gen.ts'
import { updateServer as update } from '../../../app/servers/update-server.ts'
import type { Handler } from '../../../http/operation.ts'
import { oneServer } from './one-server.ts'

export const updateServer: Handler<operations['updateServer']> = async (call) => {
  const { app, context, params, body } = call
  const {
    'OS-DCF:diskConfig': diskConfig,
    pinned_availability_zone: pinnedZone,
    ...rest
  } = body.server
  const change = diskConfig === undefined ? rest : { ...rest, diskConfig }
  const server = await update(app.db, context, params.server_id, { change, pinnedZone })
  return { body: { server: await oneServer(call, server) } }
}
