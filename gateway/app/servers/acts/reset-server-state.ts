import { resetUnplacedServer } from '../../../db/change-server.ts'
import type { Compute } from '../../compute.ts'
import type { RequestContext } from '../../request-context.ts'
import { showServer } from '../list/show-server.ts'
import { actOnServer } from './act-on-server.ts'

/**
 * Afterwards the server counts as being in this state, and nothing is under way: as its cell believes then, and here
 * alone where it is in no cell. Throws as `actOnServer`.
 */
export async function resetServerState(
  compute: Compute,
  context: RequestContext,
  id: string,
  state: 'active' | 'error',
): Promise<void> {
  const server = await showServer(compute.db, context, id)
  if (server.cellId === null && (await resetUnplacedServer(compute.db, server, state))) return
  await actOnServer(compute, context, id, { name: 'reset-state', state })
}
