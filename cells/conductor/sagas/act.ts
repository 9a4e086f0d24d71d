import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { SagaId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { Secrets } from '#common/secrets.ts'
import { SERVER_ACTIONS } from '#common/states/server-actions.ts'
import type { Act, ActName, PlainAct } from '#openapi/wire/act.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { addToFeed } from '../../db/feed.ts'
import { findOwner, updateOwnInstance, updateSeenInstance } from '../../db/instances.ts'
import { insertOperation } from '../../db/operations.ts'
import { endedEvent } from '../action-event.ts'
import { type HostOutcome, workOnHost } from '../ask-host.ts'
import type { Conductor } from '../conductor.ts'
import { type Instance, instanceView } from '../instance.ts'

export interface ActParams {
  readonly operation: OperationRef
  readonly action: ActName
  /** The whole of it, sealed; null where the name says all. */
  readonly sealed: string | null
  /** As it was when the action was found possible. */
  readonly instance: Instance
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

type ActCall = StepCall<Conductor, ActParams>

/** Types, not interfaces: they are logged as JSON. */
type Done =
  | { readonly outcome: 'done'; readonly powerState: number | null }
  | { readonly outcome: 'failed'; readonly reason: string }
  | { readonly outcome: 'unwanted' }

const FAULT_CODE = 500

/** The instance while the action is under way. */
export function acting({ instance, action }: ActParams, sagaId: SagaId): Instance {
  const taskState = SERVER_ACTIONS[action].during
  return { ...instance, version: instance.version + 1, taskState, sagaId }
}

/** Throws `conflict` when the instance has changed since it was read. */
const begin: LocalStep<Conductor, ActParams> = {
  kind: 'local',
  name: 'begin',
  run: async (tx, { params, sagaId }) => {
    await insertOperation(tx, params.operation, { outcome: 'accepted', reason: null })
    if (await updateSeenInstance(tx, params.instance, { to: acting(params, sagaId) })) return null
    throw new Failure('conflict', `Instance ${params.instance.id} has just changed.`)
  },
  undo: (tx, call) => end(tx, call, { outcome: 'failed', reason: 'It ended unexpectedly.' }),
}

const act: RemoteStep<Conductor, ActParams> = {
  kind: 'remote',
  name: 'act',
  run: async (call, signal) => {
    const { deps, params, work, sagaId } = call
    const { operation, instance } = params
    const outcome = await workOnHost(deps, {
      host: instance.placed.hostId,
      operation: 'act',
      payload: { operation, act: actOf(deps, params), graceMs: deps.stopGraceMs },
      work,
      signal,
      isWanted: async () => (await findOwner(deps.db, instance)) === sagaId,
    })
    return doneOf(outcome)
  },
  // What was done to a guest cannot be made never to have been; the audit tells what it is now.
  undo: 'none',
}

const settle: LocalStep<Conductor, ActParams> = {
  kind: 'local',
  name: 'settle',
  run: async (tx, call) => {
    await end(tx, call, call.output<Done>('act') ?? { outcome: 'unwanted' })
    return null
  },
  forwardOnly: true,
  undo: 'none',
}

function doneOf(outcome: HostOutcome): Done {
  switch (outcome.state) {
    case 'done':
      return { outcome: 'done', powerState: outcome.powerState ?? null }
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

/** What is asked of the host, for a saga that is kept in rows anybody may read. */
export function sealedAct(secrets: Secrets, { serverId }: OperationRef, act: Act): string | null {
  const isPlain = Object.keys(act).length === 1
  return isPlain ? null : secrets.seal(JSON.stringify(act), purpose(serverId))
}

function actOf({ secrets }: Conductor, { operation, action, sealed }: ActParams): Act {
  if (sealed !== null) return JSON.parse(secrets.open(sealed, purpose(operation.serverId))) as Act
  return { name: action as PlainAct }
}

/** Binds a sealed act to its server. */
function purpose(serverId: string): string {
  return `act on ${serverId}`
}

/** Does nothing once a delete has taken the instance. */
async function end(tx: Tx, call: ActCall, done: Done): Promise<void> {
  const { deps, params, sagaId, work } = call
  if (done.outcome === 'unwanted') return
  const at = deps.clock.now()
  const to = afterwards(call, done, at)
  if (!(await updateOwnInstance(tx, sagaId, { to }))) return
  const event = endedEvent({
    serverId: to.id,
    requestId: work.requestId,
    event: params.action,
    startedAt: params.startedAt,
    finishedAt: at,
    host: to.placed.host,
    failure: done.outcome === 'failed' ? done.reason : undefined,
  })
  addToFeed(tx, [
    { kind: 'instance', view: instanceView(to) },
    { kind: 'action-event', event },
  ])
  deps.feedChanged()
}

/** A failed action leaves the instance in the state it was in, with a fault that tells why. */
function afterwards(
  { params, sagaId }: ActCall,
  done: Exclude<Done, { outcome: 'unwanted' }>,
  at: number,
): Instance {
  const during = acting(params, sagaId)
  const after = { ...during, version: during.version + 1, taskState: null, sagaId: null }
  if (done.outcome === 'done') {
    const vmState = SERVER_ACTIONS[params.action].to ?? after.vmState
    return { ...after, vmState, powerState: done.powerState ?? after.powerState }
  }
  const message = `The action '${SERVER_ACTIONS[params.action].name}' failed.`
  const fault = { code: FAULT_CODE, message, details: done.reason, createdAt: at }
  return { ...after, fault }
}

/** Does one thing to a guest where it is. It commits twice; a delete takes the instance from it. */
export const actSaga: Saga<Conductor, ActParams> = {
  name: 'act',
  version: 1,
  steps: [begin, act, settle],
}
