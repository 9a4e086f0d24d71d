import { type WorkContext, workContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import { forEachRow, type Reconciler } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import type { CellRef } from '../../cell-client/client.ts'
import { cellsOfSaga, keepCellSagas, openCellSagas } from '../../db/cell-sagas.ts'
import type { Compute } from '../compute.ts'

type Deps = Pick<Compute, 'db' | 'cells' | 'askCell' | 'clock' | 'log' | 'operations'>

const EVERY_MS = 1_000
const LEASE_NAME = 'cell-sagas'
const LEASE_TTL_MS = 10_000
/** The most sagas requested by id besides those that are stuck. */
const IDS_MAX = 100

/**
 * Operators are shown the sagas of cells that are stuck, and what became of them. Cells are asked whose heartbeats count
 * any, or of which some are shown.
 */
export function watchCellSagas(deps: Deps, processName: string): Reconciler {
  const { db, cells, clock, log } = deps
  const terms = { name: LEASE_NAME, holder: processName, ttlMs: LEASE_TTL_MS }
  const lease = new HeldLease(db, clock, terms)
  let mayBeShown = true
  return {
    name: 'sagas of cells',
    everyMs: EVERY_MS,
    round: async (signal) => {
      const all = cells.cells()
      const counting = all.filter(
        ({ isLost, summary }) => !isLost && (summary?.stuckSagas ?? 0) > 0,
      )
      if (counting.length === 0 && !mayBeShown) return { stuck: 0 }
      mayBeShown = true
      if ((await lease.hold()) === undefined) return { holder: 0 }
      const open = await openCellSagas(db)
      mayBeShown = open.size > 0
      const due = all.filter(({ id }) => open.has(id) || counting.some((cell) => cell.id === id))
      await forEachRow(due, { log, signal }, async ({ id, name, isLost, isReachable }) => {
        // Sagas of a lost cell are not continued.
        if (isLost) await db.transaction((tx) => keepCellSagas(tx, id, []))
        else if (isReachable) await readIfAnswering(deps, { id, name }, open.get(id) ?? [])
      })
      return { holder: 1, stuck: counting.length }
    },
  }
}

/**
 * Afterwards a stuck saga of a cell is due again. False where none of a cell has this id and is stuck. Throws `unavailable`
 * where its cell does not answer.
 */
export async function continueInCell(deps: Deps, id: string, work: WorkContext): Promise<boolean> {
  let isContinued = false
  for (const cellId of await cellsOfSaga(deps.db, id)) {
    const cell = deps.cells.cell(cellId)
    if (cell === undefined) continue
    const answer = await deps.askCell(cell, 'saga.continue', { id }, { work })
    isContinued ||= answer.isContinued
    await readCell(deps, cell, [id], work)
  }
  return isContinued
}

/** A cell that does not answer is asked again the next time, and delays no other cell. */
async function readIfAnswering(deps: Deps, cell: CellRef, ids: readonly string[]): Promise<void> {
  try {
    await readCell(deps, cell, ids, workContext({}))
  } catch (error) {
    if (!isFailure(error, 'unavailable')) throw error
  }
}

async function readCell(
  { db, askCell, operations }: Deps,
  cell: CellRef,
  ids: readonly string[],
  work: WorkContext,
): Promise<void> {
  const ask = { ids: ids.slice(0, IDS_MAX) }
  const { sagas } = await askCell(cell, 'saga.list-stuck', ask, { work })
  const asked = sagas.filter(({ id, state }) => state === 'stuck' || ids.includes(id))
  const reported = asked.map(({ startedAt, endedAt, ...saga }) => ({
    ...saga,
    startedAt: new Date(startedAt),
    endedAt: endedAt === null ? null : new Date(endedAt),
  }))
  const ended = await db.transaction((tx) => keepCellSagas(tx, cell.id, reported))
  for (const id of ended) operations.notify(id)
}
