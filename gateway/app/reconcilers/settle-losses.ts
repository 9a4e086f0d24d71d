import { isFailure } from '#common/errors.ts'
import { forEachRow, type Reconciler } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { listServersLeft, removeLoss } from '../../db/lost-cells.ts'
import { snapshotsLeftIn } from '../../db/volume-snapshots.ts'
import { volumesLeftIn } from '../../db/volumes.ts'
import { clearReturned } from '../cells/clear-returned.ts'
import { takeFromLostCell } from '../cells/take-from-lost-cell.ts'
import type { ComputeDeps } from '../compute.ts'
import { takeSnapshotFromLostCell } from '../volume-snapshots/take-from-lost-cell.ts'
import { takeVolumeFromLostCell } from '../volumes/take-from-lost-cell.ts'

const EVERY_MS = 1_000
const LEASE_NAME = 'losses'
const LEASE_TTL_MS = 10_000
const BATCH_MAX = 100
/** For words of a gateway that were on their way, for guests to be stopped in, and for clocks that differ. */
const FENCE_MARGIN_S = 30

/**
 * Takes their servers from lost cells, and lets a lost cell that has rejoined serve again once it has destroyed the
 * servers that are no longer its own.
 */
export function settleLosses(deps: ComputeDeps, processName: string): Reconciler {
  const { db, cells, clock } = deps
  const terms = { name: LEASE_NAME, holder: processName, ttlMs: LEASE_TTL_MS }
  const lease = new HeldLease(db, clock, terms)
  return {
    name: 'lost cells',
    everyMs: EVERY_MS,
    round: async (signal) => {
      const lost = cells.cells().filter(({ isLost }) => isLost)
      if (lost.length === 0) return { lost: 0 }
      if ((await lease.hold()) === undefined) return { holder: 0 }
      let taken = 0
      for (const cell of lost) {
        signal.throwIfAborted()
        taken += await settle(deps, cell, signal)
      }
      return { holder: 1, lost: lost.length, taken }
    },
  }
}

/**
 * The time from which no guest of a lost cell runs, if its hosts stop their guests without contact: none has received a
 * message of a gateway since the loss.
 */
function stillAt({ lostAt = 0, summary }: Cell): number {
  const { fenceAfterS } = summary ?? {}
  return fenceAfterS === undefined ? 0 : lostAt + 1_000 * (fenceAfterS + FENCE_MARGIN_S)
}

async function settle(deps: ComputeDeps, cell: Cell, signal: AbortSignal): Promise<number> {
  const { db, log, clock } = deps
  if (clock.now() < stillAt(cell)) return 0
  const left = await listServersLeft(db, cell.id, BATCH_MAX)
  await forEachRow(left, { log, signal }, (id) =>
    db.transaction((tx) => takeFromLostCell(tx, deps, cell, id)),
  )
  const volumes = await volumesLeftIn(db, cell.id, BATCH_MAX)
  await forEachRow(volumes, { log, signal }, (id) => takeVolumeFromLostCell(db, cell, id))
  const snapshots = await snapshotsLeftIn(db, cell.id, BATCH_MAX)
  await forEachRow(snapshots, { log, signal }, (id) => takeSnapshotFromLostCell(db, cell, id))
  const taken = left.length + volumes.length + snapshots.length
  if (taken > 0 || !cell.sendsHeartbeats) return taken
  try {
    if (!(await clearReturned(deps, cell))) return 0
    await removeLoss(db, cell.id)
    log.warn({ cell: cell.name }, 'lost cell serves again')
  } catch (error) {
    if (!isFailure(error, 'unavailable')) throw error
  }
  return 0
}
