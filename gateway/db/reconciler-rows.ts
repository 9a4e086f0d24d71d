import { and, desc, eq, inArray, isNotNull, lt, sql } from 'drizzle-orm'
import type { Executor, Transactional } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import { newId } from '#common/ids.ts'
import type { Lease } from '#common/saga/lease.ts'
import { leases } from '#common/saga/schema.ts'
import { queueEvents } from './event-inbox.ts'
import type { OperationRecord } from './operations.ts'
import { operationOf, type ShownState, shownStates, stuckEvent } from './saga-operations.ts'
import { reconcilerRows } from './schema/operations.ts'

const now = sql`now(3)`
const PURGE = sqlStatement(
  sql`delete from reconciler_rows where coalesce(ended_at, taken_at) < ${sql.placeholder('before')} and state <> 'stuck' limit ${sql.placeholder('max')}`,
)
/** Enough for a message and where it came from. */
const WHY_MAX = 1_000

const OPERATION_STATES = {
  held: 'running',
  suspect: 'running',
  stuck: 'stuck',
  ended: 'done',
} as const

/** Which rows a process may work on. */
export interface TakenRows {
  /** Nothing is known against them. */
  readonly trusted: readonly string[]
  /** Rows on which a process worked when it ended; one of them may be the cause. */
  readonly suspect: readonly string[]
}

/**
 * Assigns rows of a reconciler to the process, unless a living process works on them or they are stuck. If the process
 * ends before it releases them, its successor knows them.
 */
export async function takeRows(
  db: Transactional,
  { name: owner, generation }: Lease,
  reconciler: string,
  ids: readonly string[],
): Promise<TakenRows> {
  const { rowId, state, owner: by, generation: of } = reconcilerRows
  const isAbandoned = sql<number>`${leases.generation} is null or ${leases.generation} <> ${of}
    or ${leases.expiresAt} < now(3)`
  const known = await db.orm
    .select({ rowId, state, by, of, isAbandoned })
    .from(reconcilerRows)
    .leftJoin(leases, eq(leases.name, by))
    .where(ofReconciler(reconciler, ids))
  const isOwn = (row: (typeof known)[number]) => row.by === owner && row.of === generation
  const unfinished = known.filter((row) => row.state !== 'ended')
  const free = unfinished.filter(
    (row) => row.state !== 'stuck' && (isOwn(row) || row.isAbandoned === 1),
  )
  const isSuspect = (row: (typeof known)[number]) => row.state === 'suspect' || !isOwn(row)
  const suspect = free.filter(isSuspect).map((row) => row.rowId)
  const unfinishedIds = new Set(unfinished.map((row) => row.rowId))
  const others = new Set(ids.filter((row) => !unfinishedIds.has(row)))
  if (suspect.length > 0)
    await db.orm
      .update(reconcilerRows)
      .set({ owner, generation, state: 'suspect' })
      .where(ofReconciler(reconciler, suspect))
  const ended = known.filter((row) => row.state === 'ended').map((row) => row.rowId)
  if (others.size > 0) await holdRows(db, { owner, generation }, reconciler, [...others], ended)
  const kept = free.filter((row) => !isSuspect(row)).map((row) => row.rowId)
  return { trusted: ids.filter((row) => others.has(row) || kept.includes(row)), suspect }
}

/** Holds rows that no process works on; those of them that `ended` keep their ids. */
async function holdRows(
  db: Executor,
  process: { readonly owner: string; readonly generation: number },
  reconciler: string,
  ids: readonly string[],
  ended: readonly string[],
): Promise<void> {
  const held = { ...process, state: 'held' as const, takenAt: now }
  if (ended.length > 0)
    await db.orm
      .update(reconcilerRows)
      .set({ ...held, endedAt: null })
      .where(and(ofReconciler(reconciler, ended), eq(reconcilerRows.state, 'ended')))
  await db.orm
    .insert(reconcilerRows)
    .values(ids.map((rowId) => ({ reconciler, rowId, id: newId<string>(), ...held })))
    .onDuplicateKeyUpdate({ set: { rowId: sql`row_id` } })
}

/**
 * Afterwards these rows are free for other processes; those that are stuck stay so. Operators are shown the end of those that
 * were.
 */
export async function releaseRows(
  db: Executor,
  { name, generation }: Lease,
  reconciler: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  const isOwn = and(eq(reconcilerRows.owner, name), eq(reconcilerRows.generation, generation))
  const isHeld = inArray(reconcilerRows.state, ['held', 'suspect'])
  const which = and(ofReconciler(reconciler, ids), isOwn, isHeld)
  await db.orm
    .update(reconcilerRows)
    .set({ state: 'ended', endedAt: now })
    .where(and(which, isNotNull(reconcilerRows.why)))
  await db.orm.delete(reconcilerRows).where(which)
}

/** Afterwards no reconciler takes the row up by itself, and readers of events know. */
export async function markRowStuck(
  db: Transactional,
  reconciler: string,
  row: string,
  why: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    const [result] = await tx.orm
      .update(reconcilerRows)
      .set({ state: 'stuck', why: why.slice(0, WHY_MAX) })
      .where(ofReconciler(reconciler, [row]))
    const stuck = { name: reconciler, subject: row, why }
    if (result.affectedRows === 1) queueEvents(tx, [stuckEvent(stuck, null)])
  })
}

/**
 * Afterwards a stuck row is a suspect, which the next process that reads it tries in an isolated process. False for a row that is not
 * stuck.
 */
export async function continueRow(db: Executor, id: string): Promise<boolean> {
  const [result] = await db.orm
    .update(reconcilerRows)
    .set({ state: 'suspect', generation: 0 })
    .where(and(eq(reconcilerRows.id, id), eq(reconcilerRows.state, 'stuck')))
  return result.affectedRows === 1
}

/** How many rows wait for an operator. */
export function countStuckRows(db: Executor): Promise<number> {
  return db.orm.$count(reconcilerRows, eq(reconcilerRows.state, 'stuck'))
}

/** As `listSagas`: the rows that are stuck. */
export async function listStuckRows(
  db: Executor,
  before: string,
  max: number,
  state?: ShownState,
): Promise<readonly OperationRecord[]> {
  if (!shownStates(state).includes('stuck')) return []
  const rows = await db.orm
    .select()
    .from(reconcilerRows)
    .where(and(lt(reconcilerRows.id, before), eq(reconcilerRows.state, 'stuck')))
    .orderBy(desc(reconcilerRows.id))
    .limit(max)
  return rows.map(recordOf)
}

/** A row that is stuck, or was and is being tried again or has ended. */
export async function findStuckRow(db: Executor, id: string): Promise<OperationRecord | undefined> {
  const rows = await db.orm.select().from(reconcilerRows).where(eq(reconcilerRows.id, id))
  return rows.map(recordOf)[0]
}

/** Forgets at most `max` rows that have ended before a time, or were taken before it by a process that has ended. */
export async function purgeReconcilerRows(
  db: Executor,
  before: Date,
  max: number,
): Promise<number> {
  return (await db.run(PURGE, { before, max })).affectedRows
}

function ofReconciler(reconciler: string, ids: readonly string[]) {
  return and(eq(reconcilerRows.reconciler, reconciler), inArray(reconcilerRows.rowId, [...ids]))
}

function recordOf(row: typeof reconcilerRows.$inferSelect): OperationRecord {
  const { id, reconciler: name, rowId: subject, state, why, takenAt: startedAt } = row
  const shown = { id, name, subject, why, requestId: null, startedAt }
  const endedAt = state === 'stuck' ? startedAt : row.endedAt
  return operationOf({ ...shown, state: OPERATION_STATES[state], endedAt }, null)
}
