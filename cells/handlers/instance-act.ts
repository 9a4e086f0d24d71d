import type { WorkContext } from '#common/context.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { type InstanceId, newId, type SagaId } from '#common/ids.ts'
import { settledWithin } from '#common/settled-within.ts'
import { refuseInState } from '#common/states/refuse-in-state.ts'
import { SERVER_ACTIONS } from '#common/states/server-actions.ts'
import type { Capability } from '#drivers/driver.ts'
import type { Act, ActName, ActNamed, CellAct } from '#openapi/wire/act.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { refuseHostDown } from '../conductor/acts/own-host.ts'
import { rootVolumeOf } from '../conductor/acts/reimage-effects.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { type Instance, instanceView } from '../conductor/instance.ts'
import { INTERRUPTIBLE } from '../conductor/interruptible.ts'
import { resetState } from '../conductor/reset-state.ts'
import { type ActParams, acting, actSaga, type Begun, sealedAct } from '../conductor/sagas/act.ts'
import { findInstance } from '../db/instances.ts'
import { findOperation, insertOperation, type OperationRecord } from '../db/operations.ts'
import { withStores } from '../volumes/build-volumes.ts'
import { beginMove } from './begin-move.ts'
import { changeHost } from './change-host.ts'
import { endMigration } from './end-migration.ts'
import { endOfMove } from './end-of-move.ts'

type Ask = CellAsk<'instance.act'>

interface ActOf<A extends Act> {
  readonly operation: Ask['operation']
  readonly act: A
  readonly work: WorkContext
}

/** The instance may change between being read and being taken. */
const TRIES_MAX = 3
/** Less than a gateway waits for an answer. */
const OUTCOME_WAIT_MS = 5_000

/** The optional part of a driver that an act needs; none for what every driver can. */
const ACT_NEEDS: Readonly<Partial<Record<ActName, Capability>>> = {
  pause: 'pause',
  unpause: 'pause',
  suspend: 'suspend',
  resume: 'suspend',
  rescue: 'rescue',
  unrescue: 'rescue',
  'change-password': 'password',
  'crash-dump': 'crashDump',
  'create-image': 'snapshot',
  'create-backup': 'snapshot',
  'forget-changes': 'diskChanges',
  shelve: 'snapshot',
  rebuild: 'rebuild',
  resize: 'resize',
  'confirm-resize': 'resize',
  'revert-resize': 'resize',
}

/**
 * Afterwards the action is under way. Throws `not-found`, and `conflict` in Nova's words when the server's state
 * forbids it. A repeat is answered as the first was, and acts no second time.
 */
export async function instanceAct(
  cell: Cell,
  ask: Ask,
  work: WorkContext,
): Promise<CellAnswer<'instance.act'>> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    // In this order: an instance that shows what the same request has begun meanwhile is followed by its record.
    const instance = await findPresent(cell, ask)
    if (await answeredBefore(cell, ask)) return { view: instanceView(await findPresent(cell, ask)) }
    const view = await begin(cell, ask, instance, work)
    if (view !== undefined) return { view }
  }
  throw new Failure('conflict', `Instance ${ask.operation.serverId} is being changed.`)
}

/** True when the operation was accepted before; throws again what it was refused with. */
async function answeredBefore({ conductor }: Cell, { operation }: Ask): Promise<boolean> {
  const record = await findOperation(conductor.db, operation)
  if (record?.outcome === 'refused') throw new Failure('conflict', record.reason ?? '')
  return record !== undefined
}

async function findPresent({ conductor }: Cell, { operation }: Ask): Promise<Instance> {
  const instance = await findInstance(conductor.db, operation.serverId as InstanceId)
  if (instance !== undefined && instance.attempt === operation.attempt) return instance
  throw new Failure('not-found', `Instance ${operation.serverId} could not be found.`)
}

/** Undefined when the instance or the operation's record changed meanwhile. */
async function begin(
  cell: Cell,
  { operation, act, isWish, isDesiredState = isWish }: Ask,
  instance: Instance,
  work: WorkContext,
): Promise<ReturnType<typeof instanceView> | undefined> {
  const { conductor } = cell
  if (isDesiredState === true && (await isInStateAlready(cell, operation, act.name, instance)))
    return instanceView(instance)
  if (act.name === 'reset-state') {
    const reset = await resetState(conductor, operation, instance, act.state)
    return reset && instanceView(reset)
  }
  if ('migrationId' in act)
    return 'isAwaited' in act
      ? changeHost(cell, { operation, move: act, work }, instance)
      : endMigration(cell, operation, { action: act.name, work }, instance)
  refuseUnable(conductor, instance, act)
  try {
    refuseInState(instance, act.name)
    if (act.name === 'resize') refuseHostDown(conductor, instance)
    // An act that the state table lets begin over another's task takes the instance from it, where that is harmless.
    if (instance.sagaId !== null && !INTERRUPTIBLE.has(instance.taskState))
      throw new Failure('conflict', `Instance ${instance.id} is being changed.`)
  } catch (error) {
    if (isFailure(error)) await rememberRefusal(cell, operation, error.message)
    throw error
  }
  const whole = 'build' in act ? { ...act, build: await withStores(conductor.db, act.build) } : act
  const end = await endOfMove(cell, { operation, act: whole, work }, instance)
  if (end !== undefined) return beginMove(cell, end, instance)
  return beginAct(cell, { operation, act: whole, work }, instance)
}

/** On the host it is on; a resize that has no room there goes to another. */
async function beginAct(
  cell: Cell,
  { operation, act, work }: ActOf<Act>,
  instance: Instance,
): Promise<ReturnType<typeof instanceView> | undefined> {
  const { conductor, sagas } = cell
  const id = newId<SagaId>()
  const params: ActParams = {
    operation,
    action: act.name,
    sealed: sealedAct(conductor.secrets, operation, act),
    instance,
    startedAt: conductor.clock.now(),
  }
  try {
    const run = await sagas.start(actSaga, { id, subject: operation.serverId, params, work })
    if (act.name === 'change-password') return outcomeOf(conductor, params, run.finished)
    return instanceView(acting(params, id, run.output<Begun>('begin')))
  } catch (error) {
    if (isDuplicate(error) || isFailure(error, 'conflict')) return undefined
    if (!isFailure(error, 'no-capacity')) throw error
    if (act.name === 'resize') return resizeElsewhere(cell, { operation, act, work }, instance)
    await rememberRefusal(cell, operation, error.message)
    throw error
  }
}

/**
 * Whether nothing needs to be done; the operation is then recorded as done. Throws `unavailable` while a saga holds
 * the instance.
 */
async function isInStateAlready(
  cell: Cell,
  operation: Ask['operation'],
  action: CellAct['name'],
  { id, vmState, sagaId }: Instance,
): Promise<boolean> {
  if (sagaId !== null)
    throw new Failure('unavailable', `Instance ${id} is being changed. The request is repeated.`)
  if (SERVER_ACTIONS[action].to !== vmState) return false
  await remember(cell, operation, { outcome: 'accepted', reason: null })
  return true
}

async function resizeElsewhere(
  cell: Cell,
  { operation, act, work }: ActOf<ActNamed<'resize'>>,
  instance: Instance,
): Promise<ReturnType<typeof instanceView> | undefined> {
  const { build, userId, projectId, previous } = act
  const who = { userId, projectId }
  const order = { migrationId: operation.id, build, oldFlavorId: previous.id, ...who }
  try {
    return await beginMove(cell, { operation, name: 'resize', order, work }, instance)
  } catch (error) {
    if (isFailure(error, 'no-capacity')) await rememberRefusal(cell, operation, error.message)
    throw error
  }
}

/** The trait of hosts that rescue servers which start from a volume, as Nova has it. */
const RESCUES_VOLUMES = 'COMPUTE_RESCUE_BFV'

/** Throws `unsupported`, or `invalid`, in Nova's words, for what the instance's host cannot do. */
function refuseUnable({ hosts }: Conductor, { id, placed }: Instance, act: Act): void {
  const needed = ACT_NEEDS[act.name]
  const host = placed === null ? undefined : hosts.get(placed.hostId)
  if (needed === undefined || host === undefined) return
  if (!host.capabilities.includes(needed))
    throw new Failure('unsupported', 'The requested functionality is not supported.')
  if (act.name !== 'rescue' || rootVolumeOf(act.build) === undefined) return
  if (host.inventory === null || host.inventory.traits.includes(RESCUES_VOLUMES)) return
  throw new Failure(
    'invalid',
    `Instance ${id} cannot be rescued: Host unable to rescue a volume-backed instance`,
  )
}

/**
 * Nova's answer to a new password says whether the guest took it (`set_admin_password` is a call, not a cast), so this
 * waits for the end of the saga. Throws `conflict` with the reason; it does not wait for a guest that takes longer.
 */
async function outcomeOf(
  { db, clock }: Conductor,
  { operation, startedAt }: ActParams,
  finished: Promise<unknown>,
): Promise<ReturnType<typeof instanceView> | undefined> {
  await settledWithin(clock, OUTCOME_WAIT_MS, finished)
  const instance = await findInstance(db, operation.serverId as InstanceId)
  if (instance === undefined) return undefined
  if (instance.fault !== null && instance.fault.createdAt >= startedAt)
    throw new Failure('conflict', instance.fault.details)
  return instanceView(instance)
}

function rememberRefusal(cell: Cell, operation: Ask['operation'], reason: string): Promise<void> {
  return remember(cell, operation, { outcome: 'refused', reason })
}

async function remember(
  { conductor }: Cell,
  operation: Ask['operation'],
  record: OperationRecord,
): Promise<void> {
  try {
    await insertOperation(conductor.db, operation, record)
  } catch (error) {
    if (!isDuplicate(error)) throw error
  }
}
