import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'
import { findInstance } from '../db/instances.ts'

/** The newest part of what the guest wrote on its serial console. */
export async function instanceConsoleLog(
  { conductor }: Cell,
  ask: CellAsk<'instance.console-log'>,
  work: WorkContext,
): Promise<CellAnswer<'instance.console-log'>> {
  const instance = await findInstance(conductor.db, ask.serverId as InstanceId)
  if (instance === undefined)
    throw new Failure('not-found', `Instance ${ask.serverId} could not be found.`)
  // No host knows of a guest that is not made yet, or is shelved (nova: `get_console_output` of a building instance).
  if (instance.vmState === 'building' || instance.placed === null)
    throw new Failure('conflict', `Instance ${ask.serverId} is not ready`)
  return askHost(conductor, instance.placed.hostId, 'console-log', ask, work)
}
