import { claimDestination, revertClaims } from './claim-destination.ts'
import { leave } from './cold-move.ts'
import type { MovePlan } from './move.ts'
import { buildOf, markMigration, recordMigration } from './moved.ts'

/** The guest goes over while it runs. Until it has been sent, its host has it as it was. */
export const liveMove: MovePlan = {
  begin: async (tx, moving) => {
    const places = await claimDestination(tx, moving)
    await recordMigration(tx, moving, places, { type: 'live-migration', status: 'running' })
    return places
  },
  steps: [
    { at: 'source', ask: () => ({ name: 'announce' }) },
    'copy',
    { at: 'dest', ask: (build, announced) => ({ name: 'expect', build, announced }) },
    { at: 'source', ask: (_build, expected) => ({ name: 'send', expected }) },
    // The former name of `finish`, which hosts of the last release know.
    { at: 'dest', ask: (build) => ({ name: 'land', build }), mayFail: true, isForwardOnly: true },
    { ...leave('source'), mayFail: true, isForwardOnly: true },
  ],
  back: [leave('dest')],
  runs: ({ instance: { vmState } }) => vmState !== 'paused',
  done: async (tx, moving, { dest }) => {
    await markMigration(tx, moving, 'completed', { over: true })
    return { placed: dest }
  },
  failed: async (tx, moving, places, { isRolledBack, status }) => {
    await revertClaims(tx, moving, buildOf(moving), places)
    await markMigration(tx, moving, status, { over: true })
    return isRolledBack ? {} : { vmState: 'error' }
  },
}
