import { and, desc, eq, inArray, lt, notInArray, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import type { SagaState } from '#common/saga/saga.ts'
import type { ShownSaga } from '#common/saga/stuck.ts'
import { queueEvents } from './event-inbox.ts'
import type { OperationRecord } from './operations.ts'
import { operationOf, type ShownState, shownStates, stuckEvent } from './saga-operations.ts'
import { cellSagas } from './schema/operations.ts'

type Row = typeof cellSagas.$inferSelect

const OPEN: readonly SagaState[] = ['running', 'unwinding', 'stuck']
const PURGE = sqlStatement(
  sql`delete from cell_sagas where ended_at < ${sql.placeholder('before')} and state <> 'stuck' limit ${sql.placeholder('max')}`,
)

/** By cell, the unfinished sagas of its last report. */
export async function openCellSagas(db: Executor): Promise<ReadonlyMap<CellId, readonly string[]>> {
  const { cellId, id } = cellSagas
  const rows = await db.orm.select({ cellId, id }).from(cellSagas).where(isOpen())
  const byCell = Map.groupBy(rows, (row) => row.cellId as CellId)
  return new Map([...byCell].map(([cell, found]) => [cell, found.map((row) => row.id)]))
}

/**
 * Afterwards these are the cell's sagas that have not ended or did so since they were stuck, and readers of events know
 * of those that got stuck. Returns the ids of those that have ended.
 */
export async function keepCellSagas(
  tx: Tx,
  cellId: CellId,
  reported: readonly ShownSaga[],
): Promise<readonly string[]> {
  const ofCell = eq(cellSagas.cellId, cellId)
  const rows = await tx.orm.select().from(cellSagas).where(and(ofCell, isOpen())).for('update')
  const known = new Map(rows.map((row) => [row.id, row]))
  const ids = reported.map(({ id }) => id)
  const isGone = ids.length === 0 ? isOpen() : and(isOpen(), notInArray(cellSagas.id, ids))
  if (rows.some(({ id }) => !ids.includes(id)))
    await tx.orm.delete(cellSagas).where(and(ofCell, isGone))
  const changed = reported.filter((saga) => !isSame(known.get(saga.id), saga))
  for (const saga of changed) {
    const { id, ...rest } = saga
    await tx.orm
      .insert(cellSagas)
      .values({ cellId, id, ...rest })
      .onDuplicateKeyUpdate({ set: rest })
  }
  const stuck = changed.filter(({ state }) => state === 'stuck')
  queueEvents(
    tx,
    stuck.map((saga) => stuckEvent(saga, cellId)),
  )
  return changed.filter(({ state }) => !OPEN.includes(state)).map(({ id }) => id)
}

/** As `listSagas`, of cells. */
export async function listCellSagas(
  db: Executor,
  before: string,
  max: number,
  state?: ShownState,
): Promise<readonly OperationRecord[]> {
  const rows = await db.orm
    .select()
    .from(cellSagas)
    .where(and(lt(cellSagas.id, before), inArray(cellSagas.state, [...shownStates(state)])))
    .orderBy(desc(cellSagas.id))
    .limit(max)
  return rows.map(recordOf)
}

export async function findCellSaga(db: Executor, id: string): Promise<OperationRecord | undefined> {
  const rows = await db.orm.select().from(cellSagas).where(eq(cellSagas.id, id))
  return rows.map(recordOf)[0]
}

/** The number of cells' sagas that wait for an operator, by their last reports. */
export function countStuckInCells(db: Executor): Promise<number> {
  return db.orm.$count(cellSagas, eq(cellSagas.state, 'stuck'))
}

/** The cells that named a saga of this id. */
export async function cellsOfSaga(db: Executor, id: string): Promise<readonly CellId[]> {
  const { cellId } = cellSagas
  const rows = await db.orm.select({ cellId }).from(cellSagas).where(eq(cellSagas.id, id))
  return rows.map((row) => row.cellId as CellId)
}

/** Removes at most `rows` that ended before a time. */
export async function purgeCellSagas(db: Executor, before: Date, rows: number): Promise<number> {
  return (await db.run(PURGE, { before, max: rows })).affectedRows
}

function isOpen() {
  return inArray(cellSagas.state, [...OPEN])
}

function isSame(row: Row | undefined, { state, endedAt }: ShownSaga): boolean {
  return row?.state === state && row.endedAt?.getTime() === endedAt?.getTime()
}

function recordOf({ cellId, ...saga }: Row): OperationRecord {
  return operationOf({ ...saga, state: saga.state as SagaState }, cellId as CellId)
}
