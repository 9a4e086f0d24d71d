import type { Reconciler } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import type { CellAccess } from '../../cell-client/cell-access.ts'
import { cellsToRecover } from '../../db/cell-mappings.ts'
import { hasRecoverySince, serversOfRecovery } from '../../db/cell-recoveries.ts'
import { listServersLeft } from '../../db/lost-cells.ts'
import { declareLost } from '../cells/declare-lost.ts'
import { planFailover } from '../cells/failover-plan.ts'
import { listOperatedCells, type OperatedCell } from '../cells/operated-cells.ts'
import type { Compute } from '../compute.ts'
import { operatorOf } from '../operations/operator-of.ts'
import { recoverCell } from '../operations/recover-cell.ts'

const EVERY_MS = 5_000
const LEASE = { name: 'cell-failover', ttlMs: 15_000 } as const
/** A process that stood still for longer may not have read heartbeats that have come. */
const GAP_MS = 3 * EVERY_MS
const PARALLEL = 10
/** The gateways act by themselves. */
const NO_USER = { userId: '' } as const

export interface FailoverDeps {
  readonly compute: Compute
  readonly access: CellAccess
}

/**
 * Cells that stay unreachable for as long as their operators say are declared lost, and their servers are built again in
 * other cells once the hosts of the lost one have stopped them. One gateway does so.
 */
export function failOverCells(deps: FailoverDeps, processName: string): Reconciler {
  const { compute } = deps
  const { db, clock, cells, log } = compute
  const lease = new HeldLease(db, clock, { ...LEASE, holder: processName })
  let watchedSince = clock.elapsed()
  let roundAt = watchedSince
  return {
    name: 'cell failover',
    everyMs: EVERY_MS,
    round: async () => {
      const now = clock.elapsed()
      if (now - roundAt > GAP_MS) watchedSince = now
      roundAt = now
      if (cells.cells().every(({ isReachable }) => isReachable)) return { lost: 0 }
      const all = await listOperatedCells(db, cells)
      const silent = await cellsToRecover(db)
      const watched = all.map((cell) => watchedCell(deps, cell, silent))
      const plan = planFailover(watched, now - watchedSince)
      if (plan.isBlind) watchedSince = now
      const lost = all.filter(({ loss }) => loss?.by === NO_USER.userId)
      if (plan.lose.length + lost.length === 0) return { lost: 0 }
      if ((await lease.hold()) === undefined) return { holder: 0 }
      for (const cell of all.filter(({ id }) => plan.lose.includes(id))) {
        log.error({ cell: cell.name }, 'cell does not answer: it is given up')
        await declareLost({ ...deps, db, clock }, cell, lossOf(cell), null)
        await cells.refresh()
      }
      for (const cell of lost) await recoverOnce(compute, cell)
      return { holder: 1, lost: lost.length + plan.lose.length }
    },
  }
}

function watchedCell(
  { compute: { cells } }: FailoverDeps,
  { id, loss, recoverAfterS, summary, reported }: OperatedCell,
  silent: ReadonlySet<string>,
) {
  return {
    ...{ id, recoverAfterS },
    isReachable: reported?.isReachable === true,
    isLost: loss !== null,
    silentMs: cells.heardOf(id)?.ageMs,
    isSilentForAll: silent.has(id),
    fenceAfterS: (reported?.summary ?? summary)?.fenceAfterS,
  }
}

function lossOf({ recoverAfterS, summary }: OperatedCell) {
  const statement = `It did not answer for ${recoverAfterS} s. Its hosts stop their guests after ${summary?.fenceAfterS} s without a gateway.`
  return { by: NO_USER.userId, statement }
}

/** Afterwards the servers of a lost cell are being rebuilt, if all were taken from it and no recovery has begun since. */
async function recoverOnce(compute: Compute, cell: OperatedCell): Promise<void> {
  const { db, log } = compute
  if (cell.loss === null || (await hasRecoverySince(db, cell.id, cell.loss.at))) return
  if ((await listServersLeft(db, cell.id, 1)).length > 0) return
  if ((await serversOfRecovery(db, cell.id, null, 1)).length === 0) return
  const context = operatorOf(NO_USER)
  const request = { source: 'snapshot', parallel: PARALLEL, reason: cell.loss.statement } as const
  const { id } = await recoverCell(compute, context, cell, request, null)
  log.warn({ cell: cell.name, operation: id }, 'servers of a lost cell are built in others')
}
