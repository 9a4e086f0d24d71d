import { claimDestination, revertClaims } from './claim-destination.ts'
import { leave } from './cold-move.ts'
import type { MovePlan, Moving } from './move.ts'
import { buildOf, markMigration, recordMigration } from './moved.ts'

/** The guest is made again elsewhere; its remains on the dead host are removed when that host is seen again. */
export const evacuation: MovePlan = {
  begin: async (tx, moving) => {
    const places = await claimDestination(tx, moving)
    await recordMigration(tx, moving, places, { type: 'evacuation', status: 'pre-migrating' })
    return places
  },
  steps: [
    {
      at: 'dest',
      ask: (build, _, { isOff }) => ({
        name: 'evacuate',
        build,
        ...(isOff && { sourceIsOff: true }),
      }),
    },
  ],
  back: [leave('dest')],
  runs,
  done: async (tx, moving, { dest }) => {
    await markMigration(tx, moving, 'done', { over: true })
    const vmState = runs(moving) ? 'active' : 'stopped'
    return { placed: dest, vmState, launchedAt: moving.at, fault: null }
  },
  failed: async (tx, moving, places, { status }) => {
    await revertClaims(tx, moving, buildOf(moving), places)
    await markMigration(tx, moving, status, { over: true })
    return { vmState: 'error' }
  },
}

function runs({ instance, order }: Pick<Moving, 'instance' | 'order'>): boolean {
  return instance.vmState !== 'stopped' && order.staysOff !== true
}
