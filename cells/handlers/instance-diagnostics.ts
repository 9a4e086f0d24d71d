import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'
import { findInstance } from '../db/instances.ts'

/** What the guest has used. Throws `conflict`, as Nova's compute does, unless it runs. */
export async function instanceDiagnostics(
  { conductor }: Cell,
  ask: CellAsk<'instance.diagnostics'>,
  work: WorkContext,
): Promise<CellAnswer<'instance.diagnostics'>> {
  const instance = await findInstance(conductor.db, ask.serverId as InstanceId)
  if (instance === undefined)
    throw new Failure('not-found', `Instance ${ask.serverId} could not be found.`)
  const { id, powerState, placed } = instance
  if (powerState !== POWER_STATES.running || placed === null)
    throw new Failure(
      'conflict',
      `Cannot 'get_diagnostics' instance ${id} while it is in power state ${powerState}`,
    )
  return askHost(conductor, placed.hostId, 'diagnostics', ask, work)
}
