import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { SagaId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { PowerAction } from '#openapi/wire/host.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { addToFeed } from '../../db/feed.ts'
import { findOwner, updateOwnInstance, updateSeenInstance } from '../../db/instances.ts'
import { insertOperation } from '../../db/operations.ts'
import { endedEvent } from '../action-event.ts'
import { type HostOutcome, workOnHost } from '../ask-host.ts'
import type { Conductor } from '../conductor.ts'
import { type Instance, instanceView } from '../instance.ts'
import { POWER_TRANSITIONS } from '../power-transitions.ts'

export interface PowerParams {
  readonly operation: OperationRef
  readonly action: PowerAction
  /** As it was when the action was found possible. */
  readonly instance: Instance
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

type PowerCall = StepCall<Conductor, PowerParams>

/** Types, not interfaces: they are logged as JSON. */
type Powered =
  | { readonly outcome: 'done'; readonly powerState: number }
  | { readonly outcome: 'failed'; readonly reason: string }
  | { readonly outcome: 'unwanted' }

const FAULT_CODE = 500

/** The instance while the action is under way. */
export function powering({ instance, action }: PowerParams, sagaId: SagaId): Instance {
  const taskState = POWER_TRANSITIONS[action].during
  return { ...instance, version: instance.version + 1, taskState, sagaId }
}

/** Throws `conflict` when the instance has changed since it was read. */
const begin: LocalStep<Conductor, PowerParams> = {
  kind: 'local',
  name: 'begin',
  run: async (tx, { params, sagaId }) => {
    await insertOperation(tx, params.operation, { outcome: 'accepted', reason: null })
    if (await updateSeenInstance(tx, params.instance, { to: powering(params, sagaId) })) return null
    throw new Failure('conflict', `Instance ${params.instance.id} has just changed.`)
  },
  undo: (tx, call) => end(tx, call, { outcome: 'failed', reason: 'It ended unexpectedly.' }),
}

const act: RemoteStep<Conductor, PowerParams> = {
  kind: 'remote',
  name: 'act',
  run: async (call, signal) => {
    const { deps, params, work, sagaId } = call
    const { operation, action, instance } = params
    const outcome = await workOnHost(deps, {
      host: instance.placed.hostId,
      operation: 'power',
      payload: { operation, action, graceMs: deps.stopGraceMs },
      work,
      signal,
      isWanted: async () => (await findOwner(deps.db, instance)) === sagaId,
    })
    return powered(outcome)
  },
  // A guest that was switched off cannot be made never to have been; the audit tells what it is now.
  undo: 'none',
}

const settle: LocalStep<Conductor, PowerParams> = {
  kind: 'local',
  name: 'settle',
  run: async (tx, call) => {
    await end(tx, call, call.output<Powered>('act') ?? { outcome: 'unwanted' })
    return null
  },
  forwardOnly: true,
  undo: 'none',
}

function powered(outcome: HostOutcome): Powered {
  switch (outcome.state) {
    case 'done':
      return { outcome: 'done', powerState: outcome.powerState }
    case 'failed':
      return { outcome: 'failed', reason: outcome.message }
    case 'stale':
      return { outcome: 'failed', reason: 'The host knows a newer attempt of the server.' }
    case 'fenced':
      return { outcome: 'failed', reason: 'The host was declared down.' }
    case 'unwanted':
      return { outcome: 'unwanted' }
  }
}

/** Does nothing once a delete has taken the instance. */
async function end(tx: Tx, call: PowerCall, powered: Powered): Promise<void> {
  const { deps, params, sagaId, work } = call
  if (powered.outcome === 'unwanted') return
  const at = deps.clock.now()
  const to = afterwards(call, powered, at)
  if (!(await updateOwnInstance(tx, sagaId, { to }))) return
  const event = endedEvent({
    serverId: to.id,
    requestId: work.requestId,
    event: params.action,
    startedAt: params.startedAt,
    finishedAt: at,
    host: to.placed.host,
    failure: powered.outcome === 'failed' ? powered.reason : undefined,
  })
  addToFeed(tx, [
    { kind: 'instance', view: instanceView(to) },
    { kind: 'action-event', event },
  ])
  deps.feedChanged()
}

/** A failed action leaves the instance in the state it was in, with a fault that tells why. */
function afterwards(
  { params, sagaId }: PowerCall,
  powered: Exclude<Powered, { outcome: 'unwanted' }>,
  at: number,
): Instance {
  const during = powering(params, sagaId)
  const after = { ...during, version: during.version + 1, taskState: null, sagaId: null }
  if (powered.outcome === 'done') {
    const vmState = POWER_TRANSITIONS[params.action].to
    return { ...after, vmState, powerState: powered.powerState }
  }
  const message = `The action '${POWER_TRANSITIONS[params.action].verb}' failed.`
  const fault = { code: FAULT_CODE, message, details: powered.reason, createdAt: at }
  return { ...after, fault }
}

/** Starts, stops, reboots, pauses or unpauses a guest. It commits twice; a delete takes the instance from it. */
export const powerSaga: Saga<Conductor, PowerParams> = {
  name: 'power',
  version: 1,
  steps: [begin, act, settle],
}
