import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'
import { findInstance } from '../db/instances.ts'

/** How far the server's live migration has come. Throws `conflict` when none is under way. */
export async function instanceMoveProgress(
  { conductor }: Cell,
  ask: CellAsk<'instance.move-progress'>,
  work: WorkContext,
): Promise<CellAnswer<'instance.move-progress'>> {
  const { serverId } = ask
  const instance = await findInstance(conductor.db, serverId as InstanceId)
  if (instance === undefined)
    throw new Failure('not-found', `Instance ${serverId} could not be found.`)
  const { placed, taskState } = instance
  if (placed === null || taskState !== 'migrating')
    throw new Failure('conflict', `Instance ${serverId} is not being migrated.`)
  return askHost(conductor, placed.hostId, 'move-progress', ask, work)
}
