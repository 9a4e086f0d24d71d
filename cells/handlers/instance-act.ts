import type { WorkContext } from '#common/context.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { type InstanceId, newId, type SagaId } from '#common/ids.ts'
import { settledWithin } from '#common/settled-within.ts'
import { refuseInState } from '#common/states/refuse-in-state.ts'
import { SERVER_ACTIONS } from '#common/states/server-actions.ts'
import type { Capability } from '#drivers/driver.ts'
import type { ActName, CellAct } from '#openapi/wire/act.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { type Instance, instanceView } from '../conductor/instance.ts'
import { INTERRUPTIBLE } from '../conductor/interruptible.ts'
import { refuseMove } from '../conductor/refuse-move.ts'
import { resetState } from '../conductor/reset-state.ts'
import { type ActParams, acting, actSaga, type Begun, sealedAct } from '../conductor/sagas/act.ts'
import { findInstance } from '../db/instances.ts'
import { findOperation, insertOperation, type OperationRecord } from '../db/operations.ts'

type Ask = CellAsk<'instance.act'>

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
    const before = await answeredBefore(cell, ask)
    const instance = await findPresent(cell, ask)
    if (before) return { view: instanceView(instance) }
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
  { operation, act, isWish }: Ask,
  instance: Instance,
  work: WorkContext,
): Promise<ReturnType<typeof instanceView> | undefined> {
  const { conductor, sagas } = cell
  if (isWish === true && (await isTrueAlready(cell, operation, act.name, instance)))
    return instanceView(instance)
  if (act.name === 'reset-state') {
    const reset = await resetState(conductor, operation, instance, act.state)
    return reset && instanceView(reset)
  }
  if ('migrationId' in act) return beginMove(cell, { operation, move: act, work }, instance)
  refuseUnable(conductor, instance, act.name)
  try {
    refuseInState(instance, act.name)
    // What the state table lets begin over another's task takes the instance from it, where that does no harm.
    if (instance.sagaId !== null && !INTERRUPTIBLE.has(instance.taskState))
      throw new Failure('conflict', `Instance ${instance.id} is being changed.`)
  } catch (error) {
    if (isFailure(error)) await rememberRefusal(cell, operation, error.message)
    throw error
  }
  const id = newId<SagaId>()
  const params: ActParams = {
    operation,
    action: act.name,
    sealed: sealedAct(conductor.secrets, operation, act),
    instance,
    startedAt: conductor.clock.now(),
  }
  const run = await sagas
    .start(actSaga, { id, subject: operation.serverId, params, work })
    .catch(async (error: unknown) => {
      if (isDuplicate(error) || isFailure(error, 'conflict')) return undefined
      if (isFailure(error, 'no-capacity')) await rememberRefusal(cell, operation, error.message)
      throw error
    })
  if (run === undefined) return undefined
  if (act.name === 'change-password') return outcomeOf(conductor, params, run.finished)
  return instanceView(acting(params, id, run.output<Begun>('begin')))
}

/** Whether nothing needs to be done; it is then remembered as done. Throws `unavailable` while somebody is at work. */
async function isTrueAlready(
  cell: Cell,
  operation: Ask['operation'],
  action: CellAct['name'],
  { id, vmState, sagaId }: Instance,
): Promise<boolean> {
  if (sagaId !== null)
    throw new Failure('unavailable', `Instance ${id} is being changed. It is asked again.`)
  if (SERVER_ACTIONS[action].to !== vmState) return false
  await remember(cell, operation, { outcome: 'accepted', reason: null })
  return true
}

/** Throws `conflict` in a state that forbids it. */
async function beginMove(
  { conductor }: Cell,
  asked: Parameters<typeof refuseMove>[1],
  instance: Instance,
): Promise<ReturnType<typeof instanceView> | undefined> {
  refuseInState(instance, asked.move.name)
  if (instance.sagaId !== null)
    throw new Failure('conflict', `Instance ${instance.id} is being changed.`)
  const refused = await refuseMove(conductor, asked, instance)
  return refused && instanceView(refused)
}

/** Throws `unsupported`, in Nova's words, for what the instance's host cannot do. */
function refuseUnable({ hosts }: Conductor, { placed }: Instance, act: ActName): void {
  const needed = ACT_NEEDS[act]
  const host = placed === null ? undefined : hosts.get(placed.hostId)
  if (needed === undefined || host === undefined || host.capabilities.includes(needed)) return
  throw new Failure('unsupported', 'The requested functionality is not supported.')
}

/**
 * Nova's answer to a new password tells whether the guest took it (`set_admin_password` is asked and not cast), so
 * the saga's end is waited for. Throws `conflict` with what went wrong; a guest that takes longer is not waited for.
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
