import { workContext } from '#common/context.ts'
import { type FencedHost, hostsToEvacuate } from '../../db/fenced-hosts.ts'
import { beginHostDrain } from '../../db/operations.ts'
import type { Compute } from '../compute.ts'
import type { RowReconciler } from './row-reconciler.ts'

const EVERY_MS = 5_000
const BATCH = 20
/** More would take the hosts that are left from their own servers. */
const PARALLEL = 5
const REASON = 'It did not answer, and was fenced.'

/** The servers of a host that its cell has fenced are built again on other hosts, except those whose policy says that they wait for the host. */
export function evacuateFenced({ db, cells, log }: Compute): RowReconciler<FencedHost> {
  return {
    name: 'evacuate fenced hosts',
    everyMs: EVERY_MS,
    due: async () => {
      const fenced = await hostsToEvacuate(db)
      // Hosts that wait for their cells take no place of others.
      return fenced.filter(({ cellId }) => cells.cell(cellId)?.isReachable === true).slice(0, BATCH)
    },
    keyOf: ({ hostId }) => hostId,
    work: async ({ hostId, name, cellId, fencedAt }) => {
      const { requestId } = workContext({})
      const operation = await db.transaction((tx) =>
        beginHostDrain(tx, {
          ...{ subjectId: hostId, subject: name, cellId, reason: REASON, fencedAt },
          ...{ movesServers: true, evacuates: true, parallel: PARALLEL },
          ...{ liveOnly: false, toOtherCells: false, deadlineS: null },
          // No user has asked for it.
          ...{ userId: '', requestId },
        }),
      )
      log.warn({ host: name, operation, request_id: requestId }, 'fenced host is evacuated')
    },
  }
}
