import type { Reconciler } from '#common/reconciler.ts'
import { readRelease } from '#common/release.ts'
import { countStuck } from '#common/saga/stuck.ts'
import type { CellHeartbeat } from '#openapi/wire/feed.ts'
import { eventSubject, WIRE_VERSIONS } from '#openapi/wire.ts'
import type { Cell } from '../cell.ts'
import { readFeedState } from '../db/feed.ts'
import { cellSummary } from '../hosts/cell-summary.ts'

const EVERY_MS = 1_000
const COUNT_STUCK_EVERY_MS = 5_000

/** Tells the gateways that the cell lives, how far its feed is, and what it could take. */
export function heartbeat(
  { conductor, incarnation, processId }: Cell,
  process: string,
): Reconciler {
  const release = readRelease()
  const { db, nats, cellId, hosts, scheduling, clock, fenceAfterMs } = conductor
  let stuckSagas = 0
  let countedAt = Number.NEGATIVE_INFINITY
  const count = async () => {
    if (clock.elapsed() - countedAt < COUNT_STUCK_EVERY_MS) return
    stuckSagas = await countStuck(db)
    countedAt = clock.elapsed()
  }
  return {
    name: 'heartbeat',
    everyMs: EVERY_MS,
    round: async () => {
      // A cell that has lost its database can do nothing, and says nothing.
      const [{ last }] = await Promise.all([readFeedState(db), count()])
      const beat: CellHeartbeat = {
        incarnation,
        position: last,
        process,
        processId,
        at: clock.now(),
        summary: {
          ...cellSummary(hosts.all(), hosts.states(), scheduling),
          stuckSagas,
          release,
          wireVersions: [...WIRE_VERSIONS],
          ...(fenceAfterMs > 0 && { fenceAfterS: fenceAfterMs / 1_000 }),
        },
        labels: {},
      }
      if (!nats.isClosed()) nats.publish(eventSubject(cellId, 'heartbeat'), JSON.stringify(beat))
      return { position: last }
    },
  }
}
