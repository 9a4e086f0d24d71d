import type { operations } from '#openapi/compute.gen.ts'
import { groupsOfServer } from '../../../app/server-groups/groups-of-server.ts'
import { serverExtras } from '../../../app/servers/server-extras.ts'
import { serverWishes } from '../../../app/servers/server-wishes.ts'
import { showServer as show } from '../../../app/servers/show-server.ts'
import type { Handler } from '../../../http/operation.ts'
import { serverViewer } from '../../../views/server.ts'
import { staleHeaders } from '../../../views/stale.ts'

export const showServer: Handler<operations['showServer']> = async (call) => {
  const { app, context, params, links } = call
  const server = await show(app.db, context, params.server_id)
  const extras = await serverExtras(app.compute, context, [server])
  const wishes = await serverWishes(app.db, context, [server])
  const server_groups = await groupsOfServer(app.db, context, server.id)
  const view = serverViewer(context, links, { extras, wishes })
  return {
    body: { server: { ...view(server), server_groups } },
    ...staleHeaders([server], app.compute.cells, context),
  }
}
