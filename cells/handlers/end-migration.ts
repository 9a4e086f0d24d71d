import type { WorkContext } from '#common/context.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Failure } from '#common/errors.ts'
import type { InstanceView, OperationRef } from '#openapi/wire/instance.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'
import { type Instance, instanceView } from '../conductor/instance.ts'
import { insertOperation } from '../db/operations.ts'

/**
 * Afterwards the guest's host has been asked to abort its live migration, or to complete it soon. Throws `conflict`
 * when none is under way.
 */
export async function endMigration(
  { conductor }: Cell,
  operation: OperationRef,
  how: { readonly action: 'abort-migration' | 'force-complete'; readonly work: WorkContext },
  instance: Instance,
): Promise<InstanceView> {
  const { id, placed, taskState } = instance
  if (placed === null || taskState !== 'migrating')
    throw new Failure('conflict', `Instance ${id} is not being migrated.`)
  const kind = how.action === 'abort-migration' ? 'abort' : 'complete'
  const end = { serverId: id, how: kind } as const
  // The former name, which computes of the last release know.
  await askHost(conductor, placed.hostId, 'move-steer', end, how.work)
  try {
    await insertOperation(conductor.db, operation, { outcome: 'accepted', reason: null })
  } catch (error) {
    if (!isDuplicate(error)) throw error
  }
  return instanceView(instance)
}
