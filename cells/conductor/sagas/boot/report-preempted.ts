import type { LocalStep } from '#common/saga/saga.ts'
import { queueFeedRow } from '../../../db/feed.ts'
import { endedEvent } from '../../action-event.ts'
import type { Conductor } from '../../conductor.ts'
import { isPreempted, latest } from './outputs.ts'
import type { BootParams } from './params.ts'

/** Afterwards who asks what became of the build learns that a delete ended it. */
export const reportPreempted: LocalStep<Conductor, BootParams> = {
  kind: 'local',
  name: 'tell-preempted',
  when: isPreempted,
  run: async (tx, call) => {
    const { deps, params, work } = call
    const { claimed } = latest(call)
    const event = endedEvent({
      serverId: params.operation.serverId,
      work,
      event: 'build',
      startedAt: params.startedAt,
      finishedAt: deps.clock.now(),
      host: claimed.outcome === 'claimed' ? claimed.placed.host : null,
      failure: 'The server was deleted while it was being built.',
    })
    queueFeedRow(tx, [{ kind: 'action-event', event }])
    tx.afterCommit(deps.feedChanged)
    return null
  },
  forwardOnly: true,
  undo: 'none',
}
