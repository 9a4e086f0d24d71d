import type { WorkContext } from '#common/context.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { newId, type SagaId } from '#common/ids.ts'
import type { CellAsk, DeleteAnswer } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { type Instance, instanceView } from '../conductor/instance.ts'
import { deleteSaga, deleting } from '../conductor/sagas/delete.ts'
import { findInstance } from '../db/instances.ts'
import { findBuildRecord, insertBuildRecord } from '../db/operations.ts'

type Ask = CellAsk<'instance.delete'>

/** The instance may change between being read and being taken, as often as others act on it meanwhile. */
const TRIES_MAX = 5

/** Afterwards the server is being deleted, or nothing of it is here and no build of this attempt will be accepted. */
export async function instanceDelete(
  cell: Cell,
  { operation }: Ask,
  work: WorkContext,
): Promise<DeleteAnswer> {
  const { db } = cell.conductor
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const instance = await findInstance(db, operation.serverId as InstanceId)
    const isHere = instance !== undefined && instance.attempt <= operation.attempt
    // What goes is of an older attempt; this one must not be built after that either.
    if (isHere && instance.attempt < operation.attempt) await refuseBuilds(cell, operation)
    if (isHere && instance.taskState === 'deleting')
      return { outcome: 'deleting', view: instanceView(instance) }
    const answer = isHere
      ? await beginDelete(cell, operation, instance, work)
      : await recordDeleted(cell, operation)
    if (answer !== undefined) return answer
  }
  throw new Failure('unavailable', 'The server is changing too fast to be deleted.')
}

/** Undefined when the instance changed meanwhile. */
async function beginDelete(
  { conductor, sagas }: Cell,
  operation: Ask['operation'],
  instance: Instance,
  work: WorkContext,
): Promise<DeleteAnswer | undefined> {
  const id = newId<SagaId>()
  const params = { operation, instance, startedAt: conductor.clock.now() }
  try {
    await sagas.start(deleteSaga, { id, subject: operation.serverId, params, work })
    return { outcome: 'deleting', view: instanceView(deleting(params, id)) }
  } catch (error) {
    if (isFailure(error, 'conflict')) return undefined
    throw error
  }
}

/** Undefined when a build of the attempt has been accepted meanwhile. */
async function recordDeleted(
  cell: Cell,
  operation: Ask['operation'],
): Promise<DeleteAnswer | undefined> {
  if (await refuseBuilds(cell, operation)) return { outcome: 'deleted' }
  const record = await findBuildRecord(cell.conductor.db, operation)
  const isOver = record?.outcome !== 'accepted' || record.ended !== null
  return isOver ? { outcome: 'deleted' } : undefined
}

/** Afterwards no build of the attempt is accepted that was not before; false when the attempt had its answer already. */
async function refuseBuilds({ conductor }: Cell, operation: Ask['operation']): Promise<boolean> {
  try {
    await insertBuildRecord(conductor.db, { operation, outcome: 'deleted' })
    return true
  } catch (error) {
    if (!isDuplicate(error)) throw error
    return false
  }
}
