import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'
import { findInstance } from '../db/instances.ts'

/**
 * Afterwards the guest's host has made the change. Throws `conflict` while something else is done to the guest; what
 * the host throws, it has not done, unless that is `unavailable`.
 */
export async function instanceChangeNic(
  { conductor }: Cell,
  ask: CellAsk<'instance.change-nic'>,
  work: WorkContext,
): Promise<CellAnswer<'instance.change-nic'>> {
  const { serverId, attempt } = ask.operation
  const instance = await findInstance(conductor.db, serverId as InstanceId)
  if (instance === undefined || instance.attempt !== attempt)
    throw new Failure('not-found', `Instance ${serverId} could not be found.`)
  if (instance.sagaId !== null || instance.placed === null)
    throw new Failure('conflict', `Instance ${serverId} is being changed.`)
  return askHost(conductor, instance.placed.hostId, 'change-nic', ask, work)
}
