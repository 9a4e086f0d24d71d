import { SERVER_ACTIONS } from '#common/states/server-actions.ts'
import type { Compute } from '../../compute.ts'
import type { RequestContext } from '../../request-context.ts'
import type { ServerRecord } from '../list/server-record.ts'
import { showServer } from '../list/show-server.ts'
import { actOnServer } from './act-on-server.ts'
import { deleteShown } from './delete-server.ts'

/**
 * What a user's delete comes to. Where the operator keeps deleted servers for a time, the guest is switched off and the
 * server can be restored; else, and where there is no guest to restore, as `deleteServer`. Throws what both throw:
 * nothing that should be kept is destroyed because its cell cannot be reached.
 */
export async function softDeleteServer(
  compute: Compute,
  context: RequestContext,
  id: string,
): Promise<void> {
  const server = await showServer(compute.db, context, id)
  if (!isToBeKept(compute, server)) return deleteShown(compute, context, server)
  if (isKept(server)) return
  await actOnServer(compute, context, server.id, { name: 'soft-delete', plan: { kind: 'keep' } })
}

/** As in Nova, one that never ran is not. */
function isToBeKept({ reclaimIntervalS }: Compute, server: ServerRecord): boolean {
  const from = SERVER_ACTIONS['soft-delete'].from
  const hasGuest = isKept(server) || from === 'any' || from.includes(server.vmState)
  return reclaimIntervalS > 0 && server.launchedAt !== null && hasGuest
}

function isKept({ vmState, taskState }: ServerRecord): boolean {
  return taskState === 'soft-deleting' || (vmState === 'soft-delete' && taskState !== 'deleting')
}
