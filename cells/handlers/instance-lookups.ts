import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { HostId, InstanceId } from '#common/ids.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'
import { instanceView } from '../conductor/instance.ts'
import { findInstance } from '../db/instances.ts'
import { heldBy } from '../placement/release.ts'

/** The records of the cell about a server: its row, its build request, and the hosts with allocations for it. */
export async function instanceAudit(
  { conductor: { db, builds } }: Cell,
  { serverId, withRecord }: CellAsk<'instance.audit'>,
): Promise<CellAnswer<'instance.audit'>> {
  const instance = await findInstance(db, serverId as InstanceId)
  const held = await heldBy(db, serverId)
  const hosts = new Set<HostId>(held.map(({ provider_id: hostId }) => hostId))
  const record =
    withRecord === true && instance !== undefined ? await builds.record(db, instance) : undefined
  return {
    ...(record !== undefined && { record }),
    view: instance === undefined ? null : instanceView(instance),
    heldOn: [...hosts],
  }
}

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

/** The usage of the guest. Throws `conflict`, as Nova's compute does, unless the guest runs. */
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
