import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import type { MigrationStatus, MigrationType, MigrationView } from '#openapi/wire/migration.ts'
import type { Holding } from '#openapi/wire/numa.ts'
import { queueFeedRow } from '../../db/feed.ts'
import { touchNetworkState } from '../../db/network-objects.ts'
import { insertMigration, newestMigration, updateMigration } from '../../db/server-migrations.ts'
import { release } from '../../placement/release.ts'
import type { Instance, PlacedOn } from '../instance.ts'
import type { Moving, Places } from './move.ts'

/** The server as it will be; throws for a move that needs it and has none. */
export function buildOf({ order, name }: Moving): InstanceBuild {
  if (order.build !== null) return order.build
  throw new Failure('invalid', `A ${name} request must state how the server is built.`)
}

/** The present host of the server; throws `conflict` for a server on no host. */
export function sourceOf({ instance }: Moving): PlacedOn {
  if (instance.placed !== null) return instance.placed
  throw new Failure('conflict', `Instance ${instance.id} is on no host.`)
}

/** A guest that was off when it was moved has stayed off (nova: `old_vm_state`). */
export function stateByPower({ powerState }: Instance): 'active' | 'stopped' {
  return powerState === POWER_STATES.shutdown ? 'stopped' : 'active'
}

/** Afterwards the move is on record. */
export async function recordMigration(
  tx: Tx,
  { deps, operation, instance, order, at }: Moving,
  { source, dest }: Places,
  { type, status }: { readonly type: MigrationType; readonly status: MigrationStatus },
): Promise<void> {
  const view: MigrationView = {
    id: order.migrationId,
    serverId: operation.serverId,
    version: 1,
    type,
    status,
    sourceHost: source.host,
    sourceNode: source.hypervisorHostname,
    destHost: dest.host,
    destNode: dest.hypervisorHostname,
    oldFlavorId: order.oldFlavorId,
    newFlavorId: order.build?.flavor.id ?? order.oldFlavorId,
    userId: order.userId,
    projectId: order.projectId ?? instance.projectId,
    ...heldAt(source, dest),
    createdAt: at,
    updatedAt: at,
  }
  await insertMigration(tx, view)
  queueFeedRow(tx, [{ kind: 'migration', view }])
  await rebindPorts(tx, deps)
}

/** What the migration holds of the one host, and the server of the other, for the migration to say. */
export function heldAt(source: PlacedOn, dest?: PlacedOn): Pick<MigrationView, 'held'> {
  const left = holdingOf(source)
  if (left === undefined) return {}
  const taken = dest && holdingOf(dest)
  return { held: { source: left, ...(taken && { dest: taken }) } }
}

function holdingOf({ hostId, held, numa }: PlacedOn): Holding | undefined {
  return held && { hostId, resources: { ...held }, ...(numa && { numa }) }
}

/** Afterwards the server's newest migration has the status. One that is `over` holds nothing any more. */
export async function markMigration(
  tx: Tx,
  { deps, instance, at }: Moving,
  status: MigrationStatus,
  { over }: { readonly over: boolean },
): Promise<void> {
  const migration = await newestMigration(tx, instance.id)
  if (migration === undefined) return
  if (over) await release(tx, migration.id)
  const { held, ...rest } = migration
  const holds = !over && held !== undefined && { held }
  const view = { ...rest, version: migration.version + 1, status, ...holds, updatedAt: at }
  await updateMigration(tx, view)
  queueFeedRow(tx, [{ kind: 'migration', view }])
  await rebindPorts(tx, deps)
}

/** Afterwards the ports of the server are bound to its hosts soon, without waiting for the gateways to know them. */
async function rebindPorts(tx: Tx, { networkChanged }: Moving['deps']): Promise<void> {
  await touchNetworkState(tx)
  tx.afterCommit(networkChanged)
}
