import type { operations } from '#openapi/compute.gen.ts'
import { groupsOfServer } from '../../../app/server-groups/groups-of-server.ts'
import { serverExtras } from '../../../app/servers/server-extras.ts'
import { serverWishes } from '../../../app/servers/server-wishes.ts'
import { updateServer as update } from '../../../app/servers/update-server.ts'
import type { Handler } from '../../../http/operation.ts'
import { serverViewer } from '../../../views/server.ts'

export const updateServer: Handler<operations['updateServer']> = async (call) => {
  const { app, context, params, body, links } = call
  const {
    'OS-DCF:diskConfig': diskConfig,
    pinned_availability_zone: pinnedZone,
    ...rest
  } = body.server
  const change = diskConfig === undefined ? rest : { ...rest, diskConfig }
  const server = await update(app.db, context, params.server_id, { change, pinnedZone })
  const extras = await serverExtras(app.compute, context, [server])
  const wishes = await serverWishes(app.db, context, [server])
  const server_groups = await groupsOfServer(app.db, context, server.id)
  const view = serverViewer(context, links, { extras, wishes })
  return { body: { server: { ...view(server), server_groups } } }
}
