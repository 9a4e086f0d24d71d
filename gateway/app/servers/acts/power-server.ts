import type { Compute } from '../../compute.ts'
import { acceptIntent } from '../../intents/intents.ts'
import type { RequestContext } from '../../request-context.ts'
import type { ServerRecord } from '../list/server-record.ts'
import { showServer } from '../list/show-server.ts'
import { actOnServer } from './act-on-server.ts'
import { refuseAction } from './refuse-action.ts'

/**
 * Afterwards the server's cell has accepted to start or stop it; an unreachable cell gets the request when it is back,
 * and until then the server shows the intent. Throws as `actOnServer`, but not `unavailable` for an unreachable cell.
 */
export async function powerServer(
  compute: Compute,
  context: RequestContext,
  id: string,
  action: 'start' | 'stop',
): Promise<void> {
  const server = await showServer(compute.db, context, id)
  const cell = server.cellId === null ? undefined : compute.cells.cell(server.cellId)
  if (cell?.isReachable !== false) return actOnServer(compute, context, id, { name: action })
  refuseAction(asIntended(server), context, action)
  return acceptIntent(compute.db, context, server, action)
}

/** The server as if what waits to be done had been: the newest intent is the one that counts. */
function asIntended(server: ServerRecord): ServerRecord {
  switch (server.intent) {
    case 'start':
      return { ...server, vmState: 'active', taskState: null }
    case 'stop':
      return { ...server, vmState: 'stopped', taskState: null }
    case 'delete':
    case null:
      return server
  }
}
