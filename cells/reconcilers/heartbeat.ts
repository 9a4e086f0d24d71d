import type { Reconciler } from '#common/reconciler.ts'
import { readRelease } from '#common/release.ts'
import type { CellHeartbeat } from '#openapi/wire/feed.ts'
import { eventSubject, WIRE_VERSIONS } from '#openapi/wire.ts'
import type { Cell } from '../cell.ts'
import { waitingWork } from '../db/waiting-work.ts'
import { cellSummary } from '../hosts/cell-summary.ts'
import { storeSummaries } from '../volumes/store-summaries.ts'

const EVERY_MS = 1_000

/**
 * Sends the gateways that the cell lives, how far its feed is, and how much it could take. The query for that finds
 * the cell's waiting work as well: `recover` is called where there may be sagas to take up, and the feed is relayed.
 */
export function heartbeat(
  { conductor, incarnation, processId, sagas, sites }: Cell,
  process: string,
  recover: () => void,
): Reconciler {
  const release = readRelease()
  const { db, nats, cellId, hosts, scheduling, clock, fenceAfterMs, feedChanged } = conductor
  return {
    name: 'heartbeat',
    everyMs: EVERY_MS,
    round: async () => {
      // A cell that has lost its database can do nothing, and says nothing.
      const { last, hasUnnumbered, hasSagas, stuckSagas } = await waitingWork(db, sagas.lease)
      if (hasUnnumbered) feedChanged()
      if (hasSagas || sagas.hasLetGo) recover()
      const stores = await storeSummaries(db, hosts, conductor.storeRatio)
      // From here on nothing is waited for: the claims are those that the summary has.
      const claims = hosts.claims()
      const beat: CellHeartbeat = {
        incarnation,
        position: last,
        process,
        processId,
        at: clock.now(),
        summary: {
          ...cellSummary(hosts.all(), hosts.states(), scheduling),
          stuckSagas,
          stores,
          release,
          wireVersions: [...WIRE_VERSIONS],
          ...(fenceAfterMs > 0 && { fenceAfterS: fenceAfterMs / 1_000 }),
        },
        ...(claims && { claims }),
        labels: {},
        site: sites.heard,
      }
      if (!nats.isClosed()) nats.publish(eventSubject(cellId, 'heartbeat'), JSON.stringify(beat))
      return { position: last }
    },
  }
}
