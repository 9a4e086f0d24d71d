import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type HostId, newId, type SagaId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { Secrets } from '#common/secrets.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import { SERVER_ACTIONS } from '#common/states/server-actions.ts'
import type { Act, ActName, PlainAct } from '#openapi/wire/act.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { queueFeedRow } from '../../db/feed.ts'
import {
  findInstance,
  findOwner,
  lockOwnInstance,
  updateOwnInstance,
  updateSeenInstance,
} from '../../db/instances.ts'
import { insertOperation } from '../../db/operations.ts'
import { endedEvent, failedAction, queueActionEnd } from '../action-event.ts'
import { type Acted, effectsOf, type InstancePart, runsAfterwards } from '../acts/act-effects.ts'
import { type HostOutcome, reasonOf, workOnHost } from '../ask-host.ts'
import type { Conductor } from '../conductor.ts'
import type { Instance, PlacedOn } from '../instance.ts'
import { actOnNodes } from '../on-nodes.ts'

export interface ActParams {
  readonly operation: OperationRef
  readonly action: ActName
  /** The complete act, sealed; null if the act has no more than its name. */
  readonly sealed: string | null
  /** As it was when the action was found possible. */
  readonly instance: Instance
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  /** True where the audit began it, and no request asked for it. */
  readonly isOwn?: boolean
}

type ActCall = StepCall<Conductor, ActParams>

/** Types, not interfaces: they are logged as JSON. */
type Done =
  | { readonly outcome: 'done'; readonly powerState: number | null }
  /** `isUntouched`: the host has changed nothing. */
  | { readonly outcome: 'failed'; readonly reason: string; readonly isUntouched: boolean }
  | { readonly outcome: 'unwanted' }

/** The state of the instance at the beginning of the act, in the log of the saga. */
export type Begun = { readonly placed: { readonly [key in keyof PlacedOn]: PlacedOn[key] } | null }

/** The instance while the action is under way. */
export function acting(
  { instance, action }: ActParams,
  sagaId: SagaId,
  { placed }: Begun = { placed: instance.placed },
): Instance {
  const taskState = SERVER_ACTIONS[action].during
  return { ...instance, placed, version: instance.version + 1, taskState, sagaId }
}

/** Throws `conflict` when the instance has changed since it was read. */
const begin: LocalStep<Conductor, ActParams> = {
  kind: 'local',
  name: 'begin',
  run: async (tx, call): Promise<Begun> => {
    const { params, sagaId } = call
    await insertOperation(tx, params.operation, { outcome: 'accepted', reason: null })
    const part = await effectsOf(params.action).begin?.(tx, actedOf(call))
    const placed = part?.placed ?? params.instance.placed
    const begun = { placed: placed === null ? null : { ...placed } }
    const to = acting(params, sagaId, begun)
    if (await updateSeenInstance(tx, params.instance, { to })) return begun
    throw new Failure('conflict', `Instance ${params.instance.id} has just changed.`)
  },
  undo: (tx, call) => end(tx, call, failed('It ended unexpectedly.'), true),
}

const act: RemoteStep<Conductor, ActParams> = {
  kind: 'remote',
  name: 'act',
  run: async (call, signal) => {
    const { params, deps } = call
    const placed = call.output<Begun>('begin')?.placed ?? params.instance.placed
    return askHost(call, params.operation, actOnNodes(actOf(deps, params), placed), signal)
  },
  // An act on a guest cannot be undone, except where it has a way back; the audit finds the guest's state.
  undo: async (call, signal) => {
    await takeBack(call, signal)
  },
}

const back: RemoteStep<Conductor, ActParams> = {
  kind: 'remote',
  name: 'take-back',
  when: (call) =>
    isHalfDone(call.output<Done>('act')) && effectsOf(call.params.action).takeBack !== undefined,
  forwardOnly: true,
  run: takeBack,
  undo: 'none',
}

function isHalfDone(done: Done | undefined): boolean {
  return done?.outcome === 'failed' && !done.isUntouched
}

/** Null where the act has no way back. */
async function takeBack(call: ActCall, signal: AbortSignal): Promise<Done | null> {
  const { deps, params } = call
  const taken = effectsOf(params.action).takeBack?.(actOf(deps, params))
  if (taken === undefined) return null
  const back = actOnNodes(taken, params.instance.placed)
  return askHost(call, { ...params.operation, id: newId() }, back, signal)
}

async function askHost(
  call: ActCall,
  operation: OperationRef,
  asked: Act,
  signal: AbortSignal,
): Promise<Done> {
  const { deps, params, work, sagaId } = call
  const { instance } = params
  const host = (call.output<Begun>('begin')?.placed ?? instance.placed)?.hostId
  // An act on no host has nothing to do there.
  if (host === undefined) return { outcome: 'done', powerState: null }
  const runs = runsAfterwards(instance, params.action)
  const outcome = await workOnHost(deps, {
    host: host as HostId,
    operation: 'act',
    payload: { operation, act: asked, graceMs: deps.stopGraceMs, runs },
    work,
    signal,
    isWanted: async () => (await findOwner(deps.db, instance)) === sagaId,
  })
  // Nothing runs there, and what is stopped is not started with its host.
  if (outcome.state === 'fenced' && asked.name === 'stop')
    return { outcome: 'done', powerState: POWER_STATES.shutdown }
  return doneOf(outcome)
}

const settle: LocalStep<Conductor, ActParams> = {
  kind: 'local',
  name: 'settle',
  run: async (tx, call) => {
    const done = call.output<Done>('act') ?? { outcome: 'unwanted' }
    const isRolledBack = call.output<Done>('take-back')?.outcome === 'done'
    await end(tx, call, done, isRolledBack || !isHalfDone(done))
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
      return {
        outcome: 'failed',
        reason: reasonOf(outcome),
        isUntouched: outcome.kind === 'invalid',
      }
    case 'stale':
    case 'fenced':
      return failed(reasonOf(outcome))
    case 'unwanted':
      return { outcome: 'unwanted' }
  }
}

function failed(reason: string): Done {
  return { outcome: 'failed', reason, isUntouched: false }
}

/** The act for the host, sealed for a saga that is stored in readable rows. */
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

function actedOf({ deps, params, sagaId, work }: ActCall): Acted<Act> {
  const { operation, instance } = params
  const act = actOf(deps, params)
  return { deps, operation, instance, act, at: deps.clock.now(), sagaId, work }
}

/** Once another has taken the instance only says so. */
async function end(tx: Tx, call: ActCall, done: Done, isRolledBack: boolean): Promise<void> {
  const { deps, params, sagaId, work } = call
  const { instance } = params
  const acted = actedOf(call)
  const effects = effectsOf(params.action)
  const isOwn = done.outcome !== 'unwanted' && (await lockOwnInstance(tx, sagaId, instance))
  if (!isOwn) {
    await effects.preempted?.(tx, acted, done.outcome === 'done')
    if (done.outcome === 'unwanted' || !(await hasEnded(tx, call))) reportPreempted(tx, call)
    return
  }
  const part =
    done.outcome === 'done'
      ? await effects.done?.(tx, acted)
      : await effects.failed?.(tx, acted, { reason: done.reason, isRolledBack })
  const to = afterwards(call, done, acted.at, part)
  if (!(await updateOwnInstance(tx, sagaId, { to }))) return
  queueActionEnd(tx, deps, to, {
    work,
    event: params.action,
    startedAt: params.startedAt,
    finishedAt: acted.at,
    host: (to.placed ?? instance.placed)?.host ?? null,
    failure: done.outcome === 'failed' ? done.reason : undefined,
    isOwn: params.isOwn,
  })
}

/** True when this very act has ended before: its beginning made one version, its end another. */
async function hasEnded(tx: Tx, { params: { instance }, sagaId }: ActCall): Promise<boolean> {
  const now = await findInstance(tx, instance.id)
  if (now === undefined || now.sagaId === sagaId) return true
  return now.sagaId === null && now.version === instance.version + 2
}

/** Afterwards who asks what became of the act learns that something else was wanted of the instance meanwhile. */
function reportPreempted(tx: Tx, { deps, params, work }: ActCall): void {
  const { instance, action, startedAt, isOwn } = params
  const event = endedEvent({
    serverId: instance.id,
    work,
    event: action,
    startedAt,
    finishedAt: deps.clock.now(),
    host: instance.placed?.host ?? null,
    failure: 'Another action on the server ended it.',
    isOwn,
  })
  queueFeedRow(tx, [{ kind: 'action-event', event }])
  tx.afterCommit(deps.feedChanged)
}

/** A failed action leaves the instance in the state it was in, with a fault that says why. */
function afterwards(
  call: ActCall,
  done: Exclude<Done, { outcome: 'unwanted' }>,
  at: number,
  part: InstancePart = {},
): Instance {
  const { params, sagaId } = call
  const during = acting(params, sagaId, call.output<Begun>('begin'))
  const after = { ...during, version: during.version + 1, taskState: null, sagaId: null }
  if (done.outcome === 'done') {
    const vmState = SERVER_ACTIONS[params.action].to ?? after.vmState
    return { ...after, vmState, powerState: done.powerState ?? after.powerState, ...part }
  }
  return { ...after, fault: failedAction(params.action, done.reason, at), ...part }
}

/** Does one thing to a guest. It commits twice; a delete takes the instance from it. */
export const actSaga: Saga<Conductor, ActParams> = {
  name: 'act',
  version: 1,
  steps: [begin, act, back, settle],
  withoutSecrets: (params) => ({ ...params, sealed: null }),
}
