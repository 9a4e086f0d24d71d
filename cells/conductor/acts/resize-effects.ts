import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { Act, ActNamed } from '#openapi/wire/act.ts'
import type { MigrationView } from '#openapi/wire/migration.ts'
import { queueFeedRow } from '../../db/feed.ts'
import { insertMigration, newestMigration, updateMigration } from '../../db/server-migrations.ts'
import { nodeWish } from '../../placement/node-wish.ts'
import { release } from '../../placement/release.ts'
import { resourcesOf } from '../../placement/resources.ts'
import { transfer } from '../../placement/transfer.ts'
import { claimOnHost } from '../claim-candidate.ts'
import { endMigration } from '../end-migration.ts'
import type { Instance } from '../instance.ts'
import { heldAt } from '../moves/moved.ts'
import { placedAsHeld } from '../on-nodes.ts'
import type { ActEffects, Acted } from './act-effects.ts'
import { checkOwnHost } from './own-host.ts'

/**
 * Until it is confirmed, the server holds what it will take, and the migration what the server took before: so the
 * host has room for either end. The migration has the operation's id.
 */
export const resizeEffects: ActEffects<ActNamed<'resize'>> = {
  begin: async (tx, acted) => {
    const { operation, instance, act } = acted
    const { placed } = instance
    if (placed === null) throw new Failure('conflict', `Instance ${instance.id} is on no host.`)
    checkOwnHost(acted.deps, instance, act)
    await transfer(tx, instance.id, operation.id)
    const [resources, nodes] = [resourcesOf(act.build), nodeWish(act.build)]
    const claimant = { consumer: instance.id, resources, nodes }
    const claimed = await claimOnHost(tx, acted.deps, placed.hostId, claimant)
    if (claimed === undefined)
      throw new Failure(
        'no-capacity',
        'No valid host was found. There are not enough hosts available.',
      )
    const migration = newMigration(acted, placed)
    await insertMigration(tx, migration)
    queueFeedRow(tx, [{ kind: 'migration', view: migration }])
    const { numa: _before, held: _held, ...host } = placed
    return { placed: { ...host, ...claimed } }
  },
  done: async (tx, acted) => {
    await moveMigration(tx, acted, 'finished')
    return { flavor: acted.act.build.flavor }
  },
  failed: async (tx, acted, { isRolledBack }) => {
    await giveBack(tx, acted)
    await endMigration(acted.deps, tx, acted.instance.id, 'error')
    const { placed } = acted.instance
    return isRolledBack ? { placed } : { placed, vmState: 'error' }
  },
  takeBack: ({ build, previous }) => ({
    name: 'revert-resize',
    build: { ...build, flavor: previous },
  }),
}

/**
 * This, and a revert, that the host could not do leaves the server resized, to be asked for again, where Nova leaves it
 * in ERROR: from there a hard reboot would lead to another resize, over the disks that the host keeps for this one.
 */
export const confirmResizeEffects: ActEffects<ActNamed<'confirm-resize'>> = {
  done: async (tx, { deps, instance }) => {
    await endMigration(deps, tx, instance.id, 'confirmed')
    return { vmState: stateByPower(instance) }
  },
}

export const revertResizeEffects: ActEffects<ActNamed<'revert-resize'>> = {
  // Back on the NUMA nodes that the migration holds.
  begin: async (tx, { instance, act }) => {
    const { placed } = instance
    const migration = await newestMigration(tx, instance.id)
    if (placed === null || migration === undefined) return {}
    const { held: _later, ...to } = await placedAsHeld(tx, placed, migration.id, act.build)
    return { placed: { ...to, ...(placed.held && { held: placed.held }) } }
  },
  failed: async (_tx, { instance: { placed } }) => ({ placed }),
  done: async (tx, acted) => {
    const { deps, instance, act } = acted
    await giveBack(tx, acted)
    await endMigration(deps, tx, instance.id, 'reverted')
    const { build } = act
    const { placed } = instance
    return {
      vmState: stateByPower(instance),
      flavor: build.flavor,
      ...(placed !== null && { placed: await placedAsHeld(tx, placed, instance.id, build) }),
    }
  },
}

/** Afterwards the server holds again what it held before the resize. */
async function giveBack(tx: Tx, { instance }: Acted<Act>): Promise<void> {
  const migration = await newestMigration(tx, instance.id)
  if (migration === undefined) return
  // Not released as the server's own, which would take it out of its group.
  const outgoing = newId<string>()
  await transfer(tx, instance.id, outgoing)
  await transfer(tx, migration.id, instance.id)
  await release(tx, outgoing)
}

/** A guest that was off when it was resized has stayed off (nova: `old_vm_state`). */
function stateByPower({ powerState }: Instance): 'active' | 'stopped' {
  return powerState === POWER_STATES.shutdown ? 'stopped' : 'active'
}

async function moveMigration(
  tx: Tx,
  { instance, at }: Acted<Act>,
  status: MigrationView['status'],
): Promise<void> {
  const migration = await newestMigration(tx, instance.id)
  if (migration === undefined) return
  const view = { ...migration, version: migration.version + 1, status, updatedAt: at }
  await updateMigration(tx, view)
  queueFeedRow(tx, [{ kind: 'migration', view }])
}

function newMigration(
  { operation, instance, act, at }: Acted<ActNamed<'resize'>>,
  placed: NonNullable<Instance['placed']>,
): MigrationView {
  const { host, hypervisorHostname } = placed
  return {
    id: operation.id,
    serverId: instance.id,
    version: 1,
    type: 'resize',
    status: 'migrating',
    sourceHost: host,
    sourceNode: hypervisorHostname,
    destHost: host,
    destNode: hypervisorHostname,
    oldFlavorId: act.previous.id,
    newFlavorId: act.build.flavor.id,
    userId: act.userId,
    projectId: act.projectId ?? instance.projectId,
    ...heldAt(placed),
    createdAt: at,
    updatedAt: at,
  }
}
