import type { Compute } from '../../compute.ts'
import { acceptIntent } from '../../intents/intents.ts'
import type { RequestContext } from '../../request-context.ts'
import type { ServerRecord } from '../list/server-record.ts'
import { showServer } from '../list/show-server.ts'
import { actOnServer } from './act-on-server.ts'
import { refuseAction } from './refuse-action.ts'

/**
 * Afterwards the server's cell has accepted to start or stop it; one that cannot be reached is asked when it is back,
 * and the server shows that. Throws as `actOnServer`, but not `unavailable` for a dark cell.
 */
export async function powerServer(
  compute: Compute,
  context: RequestContext,
  id: string,
  wish: 'start' | 'stop',
): Promise<void> {
  const server = await showServer(compute.db, context, id)
  const cell = server.cellId === null ? undefined : compute.cells.cell(server.cellId)
  if (cell?.isAlive !== false) return actOnServer(compute, context, id, { name: wish })
  refuseAction(asWished(server), context, wish)
  return acceptIntent(compute.db, context, server, wish)
}

/** The server as if what waits to be done had been: the newest wish is the one that counts. */
function asWished(server: ServerRecord): ServerRecord {
  switch (server.wish) {
    case 'start':
      return { ...server, vmState: 'active', taskState: null }
    case 'stop':
      return { ...server, vmState: 'stopped', taskState: null }
    case 'delete':
    case null:
      return server
  }
}
