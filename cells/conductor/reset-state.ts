import { Failure } from '#common/errors.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { queueFeedRow } from '../db/feed.ts'
import { updateSeenInstance } from '../db/instances.ts'
import { insertOperation } from '../db/operations.ts'
import type { Conductor } from './conductor.ts'
import { type Instance, instanceView } from './instance.ts'
import { INTERRUPTIBLE } from './interruptible.ts'

/**
 * Afterwards the cell takes the instance to be in this state, and a result of earlier work on its guest no longer
 * counts. Returns undefined when the instance has changed in the meantime. Throws `conflict` for an instance that is
 * being built, moved or deleted: that work must end first.
 */
export async function resetState(
  { db, feedChanged }: Conductor,
  operation: OperationRef,
  instance: Instance,
  state: 'active' | 'error',
): Promise<Instance | undefined> {
  if (instance.sagaId !== null && !INTERRUPTIBLE.has(instance.taskState))
    throw new Failure('conflict', `Instance ${instance.id} is being changed.`)
  const version = instance.version + 1
  const to: Instance = { ...instance, version, vmState: state, taskState: null, sagaId: null }
  const isWritten = await db.transaction(async (tx) => {
    if (!(await updateSeenInstance(tx, instance, { to }))) return false
    await insertOperation(tx, operation, { outcome: 'accepted', reason: null })
    queueFeedRow(tx, [{ kind: 'instance', view: instanceView(to) }])
    return true
  })
  feedChanged()
  return isWritten ? to : undefined
}
