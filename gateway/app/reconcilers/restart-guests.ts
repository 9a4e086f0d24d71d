import { isFailure } from '#common/errors.ts'
import { queueEvents } from '../../db/event-inbox.ts'
import { findServer } from '../../db/find-server.ts'
import {
  dueRestarts,
  endRestart,
  type GuestRestart,
  retryRestart,
  settleRestart,
  takeRestart,
} from '../../db/guest-restarts.ts'
import type { Compute } from '../compute.ts'
import { reachableCells } from '../hosts/host-state.ts'
import { operatorOf } from '../operations/operator-of.ts'
import { appliedPolicy } from '../placement-policies/applied-policy.ts'
import { actOnServer } from '../servers/acts/act-on-server.ts'
import type { RowReconciler } from './row-reconciler.ts'

/** The longest time between rounds; work that waits wakes it earlier. */
const EVERY_MS = 10_000
/** Of a host whose guests all ended no more are started at once. */
const BATCH = 20
const ACTION = 'restart guest'

/** Servers whose guests have ended by themselves are started again, where their placement policies say so. */
export function restartGuests(compute: Compute): RowReconciler<GuestRestart> {
  return {
    name: 'restart guests',
    everyMs: EVERY_MS,
    due: () => dueRestarts(compute.db, reachableCells(compute), BATCH),
    keyOf: ({ serverId }) => serverId,
    work: (due) => restart(compute, due),
  }
}

async function restart(compute: Compute, due: GuestRestart): Promise<void> {
  const { db, placementPolicies, log } = compute
  const policy = appliedPolicy(placementPolicies.all(), due)
  if (policy?.rules.onGuestFailure !== 'restart') {
    await endRestart(db, due)
    return
  }
  // Its owner has started it, or a gateway that has ended since.
  if (!due.isOff) {
    await settleRestart(db, due)
    return
  }
  const { serverId, cellId, restarts } = due
  const taken = await takeRestart(db, due)
  if (taken === undefined) return
  const nth = restarts === 0 ? '' : `, ${restarts + 1} times in a row`
  const message = `Its guest ended by itself. It is started again${nth}, as placement policy ${policy.name} says.`
  await note(compute, due, { state: 'running', message })
  try {
    await actOnServer(compute, operatorOf({ userId: null }), serverId, { name: 'start' })
    log.warn(
      { server_id: serverId, cell: cellId, restarts: restarts + 1 },
      'guest is started again',
    )
  } catch (error) {
    if (!isFailure(error)) throw error
    // Else its owner has started or deleted it.
    const isOff = (await findServer(db, serverId))?.vmState === 'stopped'
    const message = isOff ? `${error.message} It is tried again.` : error.message
    await note(compute, due, { state: 'failed', message })
    if (isOff) {
      await retryRestart(db, taken)
      return
    }
  }
  await settleRestart(db, taken)
}

function note(
  { db }: Compute,
  { serverId, cellId }: GuestRestart,
  outcome: { readonly state: 'running' | 'failed'; readonly message: string },
): Promise<void> {
  const details = { action: ACTION, ...outcome }
  return db.transaction(async (tx) => {
    queueEvents(tx, [{ type: 'operation.state', serverId, cellId, details }])
  })
}
