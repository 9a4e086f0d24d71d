import type { Tx } from '#common/db/database.ts'
import type { InstanceId } from '#common/ids.ts'
import type { LocalStep } from '#common/saga/saga.ts'
import { queueFeedRow } from '../../../db/feed.ts'
import { removeOwnInstance } from '../../../db/instances.ts'
import { queueAttemptEnd } from '../../../db/operations.ts'
import { release } from '../../../placement/release.ts'
import { endedEvent } from '../../action-event.ts'
import type { Conductor } from '../../conductor.ts'
import { type Ended, failureOf, GIVE_UP, latest } from './outputs.ts'
import type { BootCall, BootParams } from './params.ts'

/** Afterwards the cell has nothing of the attempt, and the gateways learn that another cell may try. */
export const giveUpStep: LocalStep<Conductor, BootParams> = {
  kind: 'local',
  name: GIVE_UP,
  when: (call) => failureOf(call) !== undefined,
  run: async (tx, call): Promise<Ended> => {
    const isOurs = await giveUp(tx, call, failureOf(call) ?? '')
    return { outcome: isOurs ? 'ended' : 'taken' }
  },
  forwardOnly: true,
  undo: 'none',
}

/** Does nothing, and says so by false, once a delete has taken the instance: the delete then leaves nothing. */
export async function giveUp(tx: Tx, call: BootCall, reason: string): Promise<boolean> {
  const { deps, params, sagaId, work } = call
  const { serverId, attempt } = params.operation
  const id = serverId as InstanceId
  if (!(await removeOwnInstance(tx, sagaId, { id, attempt }))) return false
  await release(tx, serverId)
  queueAttemptEnd(tx, { id, attempt }, 'not-built', reason)
  const { claimed } = latest(call)
  const at = deps.clock.now()
  const event = endedEvent({
    serverId,
    work,
    event: 'build',
    startedAt: params.startedAt,
    finishedAt: at,
    host: claimed.outcome === 'claimed' ? claimed.placed.host : null,
    failure: reason,
  })
  queueFeedRow(tx, [
    { kind: 'not-built', serverId, attempt, reason, at },
    { kind: 'action-event', event },
  ])
  tx.afterCommit(deps.feedChanged)
  return true
}
