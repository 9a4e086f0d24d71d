import type { WorkContext } from '#common/context.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { type HostId, type InstanceId, newId, type SagaId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import { settledWithin } from '#common/settled-within.ts'
import type { CellAsk, DeleteAnswer } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'
import { type Instance, instanceView } from '../conductor/instance.ts'
import { deleteSaga, deleting } from '../conductor/sagas/delete.ts'
import { findInstance } from '../db/instances.ts'
import { findBuildRecord, insertBuildRecord } from '../db/operations.ts'

type Ask = CellAsk<'instance.delete'>

/** The instance may change between being read and being taken, as often as others act on it meanwhile. */
const TRIES_MAX = 5

/** Less than a gateway waits for an answer. */
const DESTROY_WAIT_MS = 5_000

/** Afterwards the server is being deleted, or the cell has no record of the server and will accept no build of this attempt. */
export async function instanceDelete(
  cell: Cell,
  { operation, hostId }: Ask,
  work: WorkContext,
): Promise<DeleteAnswer> {
  const { db } = cell.conductor
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const instance = await findInstance(db, operation.serverId as InstanceId)
    const isHere = instance !== undefined && instance.attempt <= operation.attempt
    // The deleted server is of an older attempt; the newer attempt must not be built afterwards either.
    if (isHere && instance.attempt < operation.attempt) await refuseBuilds(cell, operation)
    if (isHere && instance.taskState === 'deleting')
      return { outcome: 'deleting', view: instanceView(instance) }
    const answer = isHere
      ? await beginDelete(cell, operation, instance, work)
      : await recordDeleted(cell, operation, () => destroyUnknown(cell, operation, hostId, work))
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
  destroy: () => Promise<void>,
): Promise<DeleteAnswer | undefined> {
  if (await refuseBuilds(cell, operation)) {
    await destroy()
    return { outcome: 'deleted' }
  }
  const record = await findBuildRecord(cell.conductor.db, operation)
  const isOver = record?.outcome !== 'accepted' || record.ended !== null
  return isOver ? { outcome: 'deleted' } : undefined
}

/**
 * A server that a restored database does not have may still run on the host where it was last. A host that this does
 * not reach in time is audited later.
 */
async function destroyUnknown(
  { conductor }: Cell,
  operation: Ask['operation'],
  hostId: string | undefined,
  work: WorkContext,
): Promise<void> {
  const { hosts, clock, log } = conductor
  const host = hosts.get(hostId as HostId)
  if (host === undefined) return
  const payload = { operation: { ...operation, id: newId<string>() } }
  const asked = askHost(conductor, host.id, 'destroy', payload, work).catch((error: unknown) => {
    log.info({ server_id: operation.serverId, ...errorFields(error) }, 'guest left to the audit')
  })
  await settledWithin(clock, DESTROY_WAIT_MS, asked)
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
