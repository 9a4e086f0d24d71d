import type { WorkContext } from '#common/context.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { type InstanceId, newId, type SagaId } from '#common/ids.ts'
import { refuseInState } from '#common/states/refuse-in-state.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { type Instance, instanceView } from '../conductor/instance.ts'
import { powering, powerSaga } from '../conductor/sagas/power.ts'
import { findInstance } from '../db/instances.ts'
import { findOperation, insertOperation } from '../db/operations.ts'

type Ask = CellAsk<'instance.power'>

/** The instance may change between being read and being taken. */
const TRIES_MAX = 3

/**
 * Afterwards the action is under way. Throws `not-found`, and `conflict` in Nova's words when the server's state
 * forbids it. A repeat is answered as the first was, and acts no second time.
 */
export async function instancePower(
  cell: Cell,
  ask: Ask,
  work: WorkContext,
): Promise<CellAnswer<'instance.power'>> {
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
  { operation, action }: Ask,
  instance: Instance,
  work: WorkContext,
): Promise<ReturnType<typeof instanceView> | undefined> {
  const { conductor, sagas } = cell
  try {
    refuseInState(instance, action)
    if (instance.sagaId !== null)
      throw new Failure('conflict', `Instance ${instance.id} is being changed.`)
  } catch (error) {
    if (isFailure(error)) await rememberRefusal(cell, operation, error.message)
    throw error
  }
  const id = newId<SagaId>()
  const params = { operation, action, instance, startedAt: conductor.clock.now() }
  try {
    await sagas.start(powerSaga, { id, subject: operation.serverId, params, work })
    return instanceView(powering(params, id))
  } catch (error) {
    if (isDuplicate(error) || isFailure(error, 'conflict')) return undefined
    throw error
  }
}

async function rememberRefusal(
  { conductor }: Cell,
  operation: Ask['operation'],
  reason: string,
): Promise<void> {
  try {
    await insertOperation(conductor.db, operation, { outcome: 'refused', reason })
  } catch (error) {
    if (!isDuplicate(error)) throw error
  }
}
