import { newId } from '#common/ids.ts'
import { settledWithin } from '#common/settled-within.ts'
import { SERVER_ACTIONS } from '#common/states/server-actions.ts'
import type { Compute } from '../../compute.ts'
import { acceptIntent } from '../../intents/intents.ts'
import { type RequestContext, requesterOf } from '../../request-context.ts'
import { deleteServerSaga } from '../../sagas/delete-server.ts'
import type { ServerRecord } from '../list/server-record.ts'
import { showServer } from '../list/show-server.ts'
import { actOnServer } from './act-on-server.ts'
import { refuseLocked } from './refuse-action.ts'

/** A cell that takes longer is not waited for: the delete is accepted, and shown as such. */
const WAIT_MS = 2_000

/**
 * Afterwards the server is being deleted, in any state and also while its cell is unreachable; a quick cell has deleted
 * it already. A repeat is harmless. Throws `not-found`, and `conflict` for a locked server.
 */
export async function deleteServer(
  compute: Compute,
  context: RequestContext,
  id: string,
): Promise<void> {
  await deleteShown(compute, context, await showServer(compute.db, context, id))
}

/** The same for a server that was just read. */
export async function deleteShown(
  compute: Compute,
  context: RequestContext,
  server: ServerRecord,
): Promise<void> {
  refuseLocked(server, context)
  // An earlier request is already deleting it.
  if (server.taskState === 'deleting') return
  const cell = server.cellId === null ? undefined : compute.cells.cell(server.cellId)
  if (cell?.isReachable === false) {
    await acceptIntent(compute.db, context, server, 'delete')
    return
  }
  const { cellId, attempt, hostId } = server
  const run = await compute.sagas.start(deleteServerSaga, {
    subject: server.id,
    params: {
      serverId: server.id,
      operationId: newId<string>(),
      requester: requesterOf(context, server),
      ...(cellId !== null && { seen: { cellId, attempt } }),
      ...(hostId !== null && { hostId }),
    },
    work: context,
  })
  await settledWithin(compute.clock, WAIT_MS, run.finished)
}

/**
 * A user's delete. If the operator keeps deleted servers for a time, the guest is switched off and the server can be
 * restored; otherwise, and for a server without a guest to restore, this is `deleteServer`. Throws the failures of
 * both: a server that should be kept is never destroyed because its cell is unreachable.
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
