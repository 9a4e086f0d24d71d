import { serverExtras } from '../../../app/servers/server-extras.ts'
import type { FoundServer } from '../../../app/servers/server-record.ts'
import { serverWishes } from '../../../app/servers/server-wishes.ts'
import type { Call } from '../../../http/operation.ts'
import { serverViewer } from '../../../views/server.ts'

/** A server as what answers with just one shows it. */
export async function oneServer({ app, context, links }: Call, server: FoundServer) {
  const [extras, wishes] = await Promise.all([
    serverExtras(app.compute, context, [server]),
    serverWishes(app.db, context, [server]),
  ])
  const view = serverViewer(context, links, { extras, wishes })
  return { ...view(server), server_groups: server.groupId === null ? [] : [server.groupId] }
}
