import type { Tx } from '#common/db/database.ts'
import { type ErrorKind, Failure } from '#common/errors.ts'
import { newId, type SagaId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { Secrets } from '#common/secrets.ts'
import { SERVER_ACTIONS } from '#common/states/server-actions.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import {
  findOwner,
  lockOwnInstance,
  updateOwnInstance,
  updateSeenInstance,
} from '../../db/instances.ts'
import { insertOperation } from '../../db/operations.ts'
import { failedAction, queueActionEnd } from '../action-event.ts'
import type { InstancePart } from '../acts/act-effects.ts'
import { type HostOutcome, reasonOf, workOnHost } from '../ask-host.ts'
import type { Conductor } from '../conductor.ts'
import type { Instance } from '../instance.ts'
import { type Copying, copyFiles } from '../moves/copy-files.ts'
import type { MoveName, MoveOrder, MovePlan, MoveStep, Moving, Places } from '../moves/move.ts'
import { FIRST_FORWARD_STEP, MOVE_PLANS, MOVE_STEPS_MAX } from '../moves/plans.ts'
import { actOnNodes } from '../on-nodes.ts'

export interface MoveParams {
  readonly operation: OperationRef
  readonly name: MoveName
  /** The order, sealed. */
  readonly sealed: string
  /** As it was when the move was found possible. */
  readonly instance: Instance
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  /** One id for each step of the plan, so that a host recognizes a repeated request. */
  readonly operationIds: readonly string[]
}

type MoveCall = StepCall<Conductor, MoveParams>

/** Types, not interfaces: they are logged as JSON. */
type Done =
  | {
      readonly outcome: 'done'
      readonly powerState: number | null
      readonly peerInfo: string | null
      /** The former name of `peerInfo`, in the logs of moves that a process of the last release began. */
      readonly told?: string | null
    }
  | { readonly outcome: 'failed'; readonly reason: string; readonly isCalledOff: boolean }
  | { readonly outcome: 'unwanted' }

const DONE: Done = { outcome: 'done', powerState: null, peerInfo: null }

/** The instance while the move is under way: still on the host it was on. */
export function moving({ instance, name }: MoveParams, sagaId: SagaId): Instance {
  const taskState = SERVER_ACTIONS[name].during
  return { ...instance, version: instance.version + 1, taskState, sagaId }
}

/** An order for a saga that is kept in rows anybody may read. */
export function sealedOrder(
  secrets: Secrets,
  { serverId }: OperationRef,
  order: MoveOrder,
): string {
  return secrets.seal(JSON.stringify(order), purpose(serverId))
}

function movingOf({ deps, params }: MoveCall): Moving {
  const { operation, name, instance, sealed } = params
  const order = JSON.parse(deps.secrets.open(sealed, purpose(operation.serverId))) as MoveOrder
  return { deps, operation, name, instance, order, at: deps.clock.now() }
}

/** Binds a sealed order to its server. */
function purpose(serverId: string): string {
  return `move of ${serverId}`
}

function planOf({ params }: MoveCall): MovePlan {
  return MOVE_PLANS[params.name]
}

/** Throws `conflict` when the instance has changed since it was read, `no-capacity` when no host fits. */
const begin: LocalStep<Conductor, MoveParams> = {
  kind: 'local',
  name: 'begin',
  run: async (tx, call): Promise<Places> => {
    const { params, sagaId } = call
    await insertOperation(tx, params.operation, { outcome: 'accepted', reason: null })
    const places = await planOf(call).begin(tx, movingOf(call))
    if (await updateSeenInstance(tx, params.instance, { to: moving(params, sagaId) })) return places
    throw new Failure('conflict', `Instance ${params.instance.id} has just changed.`)
  },
  undo: (tx, call) => end(tx, call, failed('It ended unexpectedly.'), true),
}

const STEP_INDEXES = Array.from({ length: MOVE_STEPS_MAX }, (_, index) => index)

/** The name under which the saga log holds a step of the plan; sagas under way are found by it, so it stays. */
function loggedName(index: number): string {
  return `leg-${index + 1}`
}

function moveStep(index: number): RemoteStep<Conductor, MoveParams> {
  return {
    kind: 'remote',
    name: loggedName(index),
    when: (call) =>
      planOf(call).steps[index] !== undefined &&
      (index === 0 || call.output<Done>(loggedName(index - 1))?.outcome === 'done'),
    run: (call, signal) => {
      const id = call.params.operationIds[index]!
      return doStep(call, planOf(call).steps[index]!, id, signal)
    },
    forwardOnly: index >= FIRST_FORWARD_STEP,
    // The first step undoes what any of the steps did.
    undo: index === 0 ? (call, signal) => takeBack(call, signal).then(() => undefined) : 'none',
  }
}

const back: RemoteStep<Conductor, MoveParams> = {
  kind: 'remote',
  name: 'take-back',
  when: (call) => lastOf(call).outcome === 'failed',
  forwardOnly: true,
  run: takeBack,
  undo: 'none',
}

async function takeBack(call: MoveCall, signal: AbortSignal): Promise<Done> {
  for (const each of planOf(call).back) {
    const done = await doStep(call, each, newId(), signal)
    if (done.outcome !== 'done') return done
  }
  return DONE
}

async function doStep(
  call: MoveCall,
  asked: MoveStep,
  id: string,
  signal: AbortSignal,
): Promise<Done> {
  const { deps, params, sagaId, work } = call
  const { instance } = params
  const places = call.output<Places>('begin')!
  const operation = { ...params.operation, id }
  const isWanted = async () => (await findOwner(deps.db, instance)) === sagaId
  if (asked === 'copy') {
    const copying = { from: places.source.hostId, to: places.dest.hostId, operation, work, signal }
    return copied(deps, { ...copying, isWanted })
  }
  const moving = movingOf(call)
  const { fencedAt = null } = deps.hosts.get(places.source.hostId) ?? {}
  const whole = asked.ask(moving.order.build!, peerInfoOf(call), { isOff: fencedAt !== null })
  const act = actOnNodes(whole, places[asked.at])
  const outcome = await workOnHost(deps, {
    host: places[asked.at].hostId,
    operation: 'act',
    payload: { operation, act, graceMs: deps.stopGraceMs, runs: planOf(call).runs(moving) },
    work,
    signal,
    isWanted,
  })
  const mayFail = asked.mayFail === true && outcome.state === 'failed'
  // A host that is declared down drops the server when it is seen again.
  const isGone = act.name === 'shelve-offload' && ['done', 'fenced'].includes(outcome.state)
  return mayFail || isGone ? DONE : doneOf(outcome, act.name === 'send')
}

/** Failures by which a host refuses; any other failure leaves the outcome unknown. */
const COPY_FAILS_FOR_GOOD: readonly ErrorKind[] = [
  'conflict',
  'invalid',
  'no-capacity',
  'not-found',
  'unsupported',
]

async function copied(deps: Conductor, copying: Copying): Promise<Done> {
  try {
    return (await copyFiles(deps, copying)) ? DONE : { outcome: 'unwanted' }
  } catch (error) {
    if (error instanceof Failure && COPY_FAILS_FOR_GOOD.includes(error.kind))
      return failed(error.message)
    throw error
  }
}

/** The information for the other host, from the last host that gave any. */
function peerInfoOf(call: MoveCall): string {
  return newest(call, ({ peerInfo, told = null }) => peerInfo ?? told) ?? ''
}

/** The value of the last step that has one. */
function newest<T>(
  call: MoveCall,
  of: (done: Extract<Done, { outcome: 'done' }>) => T | null,
): T | null {
  for (const index of STEP_INDEXES.toReversed()) {
    const done = call.output<Done>(loggedName(index))
    const found = done?.outcome === 'done' ? of(done) : null
    if (found !== null) return found
  }
  return null
}

function doneOf(outcome: HostOutcome, isSending: boolean): Done {
  switch (outcome.state) {
    case 'done':
      return {
        outcome: 'done',
        powerState: outcome.powerState ?? null,
        peerInfo: outcome.peerInfo ?? outcome.told ?? null,
      }
    case 'failed':
      return {
        outcome: 'failed',
        reason: reasonOf(outcome),
        isCalledOff: isSending && outcome.kind === 'conflict',
      }
    case 'stale':
    case 'fenced':
      return failed(reasonOf(outcome))
    case 'unwanted':
      return { outcome: 'unwanted' }
  }
}

function failed(reason: string): Done {
  return { outcome: 'failed', reason, isCalledOff: false }
}

/** The outcome of the last step that was done. */
function lastOf(call: MoveCall): Done {
  for (const index of STEP_INDEXES.toReversed()) {
    const done = call.output<Done>(loggedName(index))
    if (done !== undefined) return done
  }
  return { outcome: 'unwanted' }
}

const settle: LocalStep<Conductor, MoveParams> = {
  kind: 'local',
  name: 'settle',
  run: async (tx, call) => {
    await end(tx, call, lastOf(call), call.output<Done>('take-back')?.outcome === 'done')
    return null
  },
  forwardOnly: true,
  undo: 'none',
}

/** Does nothing once a delete has taken the instance. */
async function end(tx: Tx, call: MoveCall, done: Done, isRolledBack: boolean): Promise<void> {
  const { deps, params, sagaId, work } = call
  const { instance, name } = params
  if (done.outcome === 'unwanted' || !(await lockOwnInstance(tx, sagaId, instance))) return
  const of = movingOf(call)
  const places = call.output<Places>('begin')!
  const status = done.outcome === 'failed' && done.isCalledOff ? 'cancelled' : 'error'
  const plan = planOf(call)
  const part =
    done.outcome === 'done'
      ? await plan.done(tx, of, places)
      : await plan.failed(tx, of, places, { isRolledBack, status })
  const to = afterwards(call, done, of.at, part)
  if (!(await updateOwnInstance(tx, sagaId, { to }))) return
  queueActionEnd(tx, deps, to, {
    work,
    event: name,
    startedAt: params.startedAt,
    finishedAt: of.at,
    host: to.placed?.host ?? null,
    failure: done.outcome === 'failed' ? done.reason : undefined,
  })
}

/** A move that failed leaves a fault that says why; one that was aborted leaves none. */
function afterwards(
  call: MoveCall,
  done: Exclude<Done, { outcome: 'unwanted' }>,
  at: number,
  part: InstancePart,
): Instance {
  const during = moving(call.params, call.sagaId)
  const after = { ...during, version: during.version + 1, taskState: null, sagaId: null }
  if (done.outcome === 'done')
    return {
      ...after,
      powerState: newest(call, ({ powerState }) => powerState) ?? after.powerState,
      ...part,
    }
  if (done.isCalledOff) return { ...after, ...part }
  return { ...after, fault: failedAction(call.params.name, done.reason, at), ...part }
}

/** Takes a server from one host to another. A delete takes the instance from it at any time, on both hosts. */
export const moveSaga: Saga<Conductor, MoveParams> = {
  name: 'move',
  version: 1,
  steps: [begin, ...STEP_INDEXES.map(moveStep), back, settle],
  withoutSecrets: (params) => ({ ...params, sealed: null }),
}
