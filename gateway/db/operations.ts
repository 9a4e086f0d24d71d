import { and, asc, desc, eq, gt, inArray, lt, not, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { queueEvents } from './event-inbox.ts'
import { drainMoves, operations } from './schema/operations.ts'

export type OperationState = 'running' | 'done' | 'failed' | 'cancelled'

/** Long work that continues by itself: one that an operator began, or a saga. */
export interface OperationRecord {
  readonly id: string
  readonly kind: string
  readonly state: OperationState
  readonly subjectId: string
  readonly subject: string
  readonly cellId: string | null
  readonly total: number | null
  readonly remaining: number | null
  readonly message: string | null
  readonly userId: string | null
  readonly requestId: string | null
  readonly startedAt: Date
  readonly updatedAt: Date
  readonly endedAt: Date | null
  readonly isCancellable: boolean
}

/** The emptying of a host. */
export interface HostDrain extends OperationRecord {
  readonly subjectId: HostId
  readonly cellId: CellId
  readonly reason: string | null
  readonly isCordoned: boolean
  /** Its servers are moved; else it is waited until they are gone. */
  readonly movesServers: boolean
  /** The most servers that move at a time. */
  readonly parallel: number
  /** No server is stopped to move it. */
  readonly liveOnly: boolean
  /** Servers that no other host of their cell takes are moved to other cells. */
  readonly toOtherCells: boolean
  /** Its servers are built again elsewhere while it is down, because an operator has said that none of its guests runs. */
  readonly evacuates: boolean
  /** When the cell fenced the host, for which the gateways began it by themselves; null: an operator began it. */
  readonly fencedAt: Date | null
  /** True once its time is up, after which no move begins. */
  readonly isLate: boolean
}

/** How a host is drained. */
export type DrainOptions = Pick<
  HostDrain,
  'reason' | 'movesServers' | 'parallel' | 'liveOnly' | 'toOtherCells' | 'evacuates' | 'fencedAt'
> & {
  /** Seconds after which no move begins; null: it goes on until the host is empty. */
  readonly deadlineS: number | null
}

export const HOST_DRAIN = 'host-drain'

const now = sql`now(3)`
const PURGE = sqlStatement(
  sql`delete from operations where ended_at < ${sql.placeholder('before')} limit ${sql.placeholder('max')}`,
)

/** Afterwards this host is being emptied, by the operation whose id is returned: a new one, unless one was running, which then evacuates, too, if this does. */
export async function beginHostDrain(
  tx: Tx,
  drain: Pick<HostDrain, 'subjectId' | 'subject' | 'cellId'> &
    DrainOptions & {
      readonly userId: string
      readonly requestId: string
    },
): Promise<string> {
  const { deadlineS, ...row } = drain
  const { cellId, subject: host } = row
  const deadlineAt = deadlineS === null ? null : sql`now(3) + interval ${deadlineS} second`
  const added = {
    ...(row.evacuates && { evacuates: true, movesServers: true }),
    ...(row.fencedAt !== null && { fencedAt: row.fencedAt }),
  }
  const { id, isNew } = await beginOperation(tx, { ...row, kind: HOST_DRAIN, deadlineAt }, added)
  const details = { host, action: HOST_DRAIN, state: 'running' }
  if (isNew) queueEvents(tx, [{ type: 'operation.state', cellId, details }])
  return id
}

type NewOperation = Omit<
  typeof operations.$inferInsert,
  'id' | 'slot' | 'state' | 'startedAt' | 'updatedAt' | 'deadlineAt'
> & { readonly deadlineAt?: SQL | null }

/** The slot of an operation that runs: there is one of a kind for each subject at most. */
export function slotOf(kind: string, subjectId: string): string {
  return `${kind} ${subjectId}`
}

/** Afterwards an operation of the kind runs for the subject: a new one, or the one that did, to which `added` is added. */
export async function beginOperation(
  tx: Tx,
  row: NewOperation,
  added: Partial<NewOperation> = {},
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const id = newId<string>()
  const slot = slotOf(row.kind, row.subjectId)
  await tx.orm
    .insert(operations)
    .values({ ...row, id, slot, state: 'running', startedAt: now, updatedAt: now })
    .onDuplicateKeyUpdate({ set: { slot, ...added } })
  const [running] = await tx.orm
    .select({ id: operations.id })
    .from(operations)
    .where(eq(operations.slot, slot))
  if (running === undefined) throw new Error('An operation that was just begun is not there')
  return { id: running.id, isNew: running.id === id }
}

/** The states of a move that is under way. `starting`: a gateway of the last release has begun it, or was about to. */
export const BEGUN: readonly string[] = ['starting', 'moving']
/** For a row of `drain_moves`: the move is under way. */
export const IS_BEGUN = inArray(drainMoves.state, [...BEGUN])

const isDrain = eq(operations.kind, HOST_DRAIN)

/** The drain of that id; undefined if there is none. */
export async function findHostDrain(db: Executor, id: string): Promise<HostDrain | undefined> {
  const rows = await drainRows(db).where(and(eq(operations.id, id), isDrain))
  return rows.map(drainOf)[0]
}

/**
 * Those that run, or have been cancelled while servers were moving, in the order of their ids after one, at most `max`. Reads
 * none of the operations that have ended.
 */
export async function runningDrains(
  db: Executor,
  after: string,
  max: number,
): Promise<readonly HostDrain[]> {
  const moving = db.orm.select({ id: drainMoves.operationId }).from(drainMoves).where(IS_BEGUN)
  const { id, state } = operations
  const isRunning = eq(state, 'running')
  const first = (which: SQL | undefined) =>
    drainRows(db)
      .where(and(isDrain, gt(id, after), which))
      .orderBy(asc(id))
      .limit(max)
  const running = await first(isRunning)
  const ended = await first(and(inArray(id, moving), not(isRunning)))
  return [...running, ...ended]
    .map(drainOf)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .slice(0, max)
}

/** Those that operators began, the newest first, from before an id. */
export async function listBegunOperations(
  db: Executor,
  before: string,
  max: number,
  state?: OperationState,
): Promise<readonly OperationRecord[]> {
  const inState = state === undefined ? undefined : eq(operations.state, state)
  const rows = await db.orm
    .select()
    .from(operations)
    .where(and(lt(operations.id, before), inState))
    .orderBy(desc(operations.id))
    .limit(max)
  return rows.map(operationOf)
}

/** An operation that an operator began; undefined if there is none of that id. */
export async function findBegunOperation(
  db: Executor,
  id: string,
): Promise<OperationRecord | undefined> {
  const [row] = await db.orm.select().from(operations).where(eq(operations.id, id))
  return row && operationOf(row)
}

/** Notes how far it has come, unless it has ended. */
export async function noteProgress(
  db: Executor,
  id: string,
  progress: Partial<Pick<HostDrain, 'isCordoned' | 'total' | 'remaining' | 'message'>>,
): Promise<void> {
  await db.orm
    .update(operations)
    .set({ ...progress, updatedAt: now })
    .where(and(eq(operations.id, id), eq(operations.state, 'running')))
}

/** Ends a running drain, with an event; false for one that has ended already. */
export async function endDrain(
  tx: Tx,
  { id, cellId, subject: host }: HostDrain,
  state: Exclude<OperationState, 'running'>,
  message: string | null,
): Promise<boolean> {
  if (!(await endOperation(tx, id, state, message))) return false
  const details = { host, action: HOST_DRAIN, state, message }
  queueEvents(tx, [{ type: 'operation.state', cellId, details }])
  return true
}

/** Ends a running operation; false for one that has ended already. */
export async function endOperation(
  tx: Tx,
  id: string,
  state: Exclude<OperationState, 'running'>,
  message: string | null,
): Promise<boolean> {
  const ended = state === 'done' ? { remaining: 0 } : {}
  const [result] = await tx.orm
    .update(operations)
    .set({ ...ended, state, message, slot: null, updatedAt: now, endedAt: now })
    .where(and(eq(operations.id, id), eq(operations.state, 'running')))
  return result.affectedRows === 1
}

/**
 * True while the operation runs, which it then does until the transaction has committed: an end waits for it, on another
 * server of a cluster too, for the row changes.
 */
export async function holdRunning(tx: Tx, id: string): Promise<boolean> {
  const [result] = await tx.orm
    .update(operations)
    .set({ updatedAt: sql`greatest(now(3), ${operations.updatedAt} + interval 1000 microsecond)` })
    .where(and(eq(operations.id, id), eq(operations.state, 'running')))
  return result.affectedRows === 1
}

/** Removes at most `rows` operations that ended before a time. */
export async function purgeOperations(
  db: Executor,
  endedBefore: Date,
  rows: number,
): Promise<number> {
  return (await db.run(PURGE, { before: endedBefore, max: rows })).affectedRows
}

function drainRows(db: Executor) {
  return db.orm
    .select({
      row: operations,
      isLate: sql<number>`coalesce(${operations.deadlineAt} <= now(3), false)`,
    })
    .from(operations)
    .$dynamic()
}

function drainOf({
  row,
  isLate,
}: {
  readonly row: typeof operations.$inferSelect
  readonly isLate: number
}): HostDrain {
  const { deadlineAt: _, ...shown } = row
  const { subjectId, cellId, ...common } = operationOf(row)
  return {
    ...shown,
    ...common,
    isLate: isLate === 1,
    subjectId: subjectId as HostId,
    cellId: cellId as CellId,
  }
}

/** Of a row, what operations of all kinds have. */
export function operationOf(row: typeof operations.$inferSelect): OperationRecord {
  const { id, kind, subjectId, subject, cellId, total, remaining, message } = row
  const { userId, requestId, startedAt, updatedAt, endedAt } = row
  const state = row.state as OperationState
  return {
    ...{ id, kind, state, subjectId, subject, cellId, total, remaining, message },
    ...{ userId, requestId, startedAt, updatedAt, endedAt },
    isCancellable: state === 'running',
  }
}
