import type { MigrationType } from '#openapi/wire/migration.ts'
import { claimDestination, revertClaims } from './claim-destination.ts'
import type { HostStep, MovePlan } from './move.ts'
import { buildOf, markMigration, recordMigration } from './moved.ts'

/** Afterwards nothing of the guest is on that host, which may be given it again. */
export const leave = (at: 'source' | 'dest'): HostStep => ({
  at,
  ask: () => ({ name: 'shelve-offload' }),
})

/** The guest is stopped, carried over and started again; its host keeps what it was until that is confirmed. */
export function coldMove(type: Extract<MigrationType, 'migration' | 'resize'>): MovePlan {
  return {
    begin: async (tx, moving) => {
      const places = await claimDestination(tx, moving)
      await recordMigration(tx, moving, places, { type, status: 'migrating' })
      return places
    },
    steps: [
      { at: 'source', ask: () => ({ name: 'pack' }) },
      'copy',
      { at: 'dest', ask: (build) => ({ name: 'arrive', build }) },
    ],
    back: [leave('dest'), { at: 'source', ask: () => ({ name: 'unpack' }) }],
    runs: ({ instance: { vmState } }) => vmState !== 'stopped',
    done: async (tx, moving, { dest }) => {
      await markMigration(tx, moving, 'finished', { over: false })
      return { placed: dest, flavor: buildOf(moving).flavor, vmState: 'resized' }
    },
    failed: async (tx, moving, places, { isRolledBack, status }) => {
      await revertClaims(tx, moving, buildOf(moving), places)
      await markMigration(tx, moving, status, { over: true })
      return isRolledBack ? {} : { vmState: 'error' }
    },
  }
}
