import { serverExtras } from '../../../app/servers/server-extras.ts'
import type { FoundServer } from '../../../app/servers/server-record.ts'
import type { Call } from '../../../http/operation.ts'
import { serverViewer } from '../../../views/server.ts'

/** A server as what answers with just one shows it. */
export async function oneServer({ app, context, links }: Call, server: FoundServer) {
  const view = serverViewer(context, links, await serverExtras(app.compute, context, [server]))
  return { ...view(server), server_groups: server.groupId === null ? [] : [server.groupId] }
}
