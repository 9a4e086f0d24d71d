import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import { newestMigration } from '../../db/server-migrations.ts'
import { placedAsHeld } from '../on-nodes.ts'
import { revertClaims } from './claim-destination.ts'
import { leave } from './cold-move.ts'
import type { MovePlan, Moving, Places } from './move.ts'
import { buildOf, markMigration, sourceOf, stateByPower } from './moved.ts'

/** Afterwards the host that the server has left has nothing of the server. */
export const confirmMove: MovePlan = {
  begin: placesOfMigration,
  steps: [leave('source')],
  back: [],
  runs: () => true,
  done: async (tx, moving) => {
    await markMigration(tx, moving, 'confirmed', { over: true })
    return { vmState: stateByPower(moving.instance) }
  },
  failed: async () => ({}),
}

/** Afterwards the server is on its former host, as it was there; its copy elsewhere is gone. */
export const revertMove: MovePlan = {
  begin: placesOfMigration,
  // The two must never run at once.
  steps: [leave('dest'), { at: 'source', ask: () => ({ name: 'unpack' }) }],
  back: [],
  runs: ({ instance: { powerState } }) => powerState !== POWER_STATES.shutdown,
  done: async (tx, moving, places) => {
    const build = buildOf(moving)
    await revertClaims(tx, moving, build, places)
    await markMigration(tx, moving, 'reverted', { over: true })
    return { placed: places.source, flavor: build.flavor, vmState: stateByPower(moving.instance) }
  },
  failed: async () => ({ vmState: 'error' }),
}

/** The hosts of the move that waits to be confirmed. Throws `conflict` when its former host is not known any more. */
async function placesOfMigration(tx: Tx, moving: Moving): Promise<Places> {
  const { deps, instance } = moving
  const dest = sourceOf(moving)
  const migration = await newestMigration(tx, instance.id)
  const source = deps.hosts.all().find(({ name }) => name === migration?.sourceHost)
  const place = source === undefined ? undefined : deps.hosts.placedOn(source.id)
  if (place === undefined)
    throw new Failure('conflict', `The former host of instance ${instance.id} is not known.`)
  const { build } = moving.order
  const left = build === null ? place : await placedAsHeld(tx, place, migration!.id, build)
  return { source: { ...left }, dest: { ...dest } }
}
