import { and, desc, eq, inArray, lt, or, sql } from 'drizzle-orm'
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
  /** Its servers are built again elsewhere while it is down, because an operator has said that none of its guests runs. */
  readonly evacuates: boolean
  /** True once its time is up, after which no move begins. */
  readonly isLate: boolean
}

/** How a host is drained. */
export type DrainOptions = Pick<
  HostDrain,
  'reason' | 'movesServers' | 'parallel' | 'liveOnly' | 'evacuates'
> & {
  /** Seconds after which no move begins; null: it goes on until the host is empty. */
  readonly deadlineS: number | null
}

const HOST_DRAIN = 'host-drain'

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
  const id = newId<string>()
  const slot = `${HOST_DRAIN} ${drain.subjectId}`
  await tx.orm
    .insert(operations)
    .values({
      ...row,
      deadlineAt: deadlineS === null ? null : sql`now(3) + interval ${deadlineS} second`,
      id,
      slot,
      kind: HOST_DRAIN,
      state: 'running',
      startedAt: now,
      updatedAt: now,
    })
    .onDuplicateKeyUpdate({
      set: { slot, ...(row.evacuates && { evacuates: true, movesServers: true }) },
    })
  const [running] = await tx.orm
    .select({ id: operations.id })
    .from(operations)
    .where(eq(operations.slot, slot))
  if (running === undefined) throw new Error('A drain that was just begun is not there')
  const details = { host, action: HOST_DRAIN, state: 'running' }
  if (running.id === id) queueEvents(tx, [{ type: 'operation.state', cellId, details }])
  return running.id
}

/** The drain of that id; undefined if there is none. */
export async function findHostDrain(db: Executor, id: string): Promise<HostDrain | undefined> {
  const rows = await drainRows(db).where(eq(operations.id, id))
  return rows.map(drainOf)[0]
}

/** Those that run, or have been cancelled while servers were moving, at most `max`. */
export async function runningDrains(db: Executor, max: number): Promise<readonly HostDrain[]> {
  const moving = db.orm
    .select({ id: drainMoves.operationId })
    .from(drainMoves)
    .where(inArray(drainMoves.state, ['starting', 'moving']))
  const rows = await drainRows(db)
    .where(or(eq(operations.state, 'running'), inArray(operations.id, moving)))
    .limit(max)
  return rows.map(drainOf)
}

/** The newest first, from before an id. */
export async function listDrains(
  db: Executor,
  before: string,
  max: number,
  state?: OperationState,
): Promise<readonly HostDrain[]> {
  const inState = state === undefined ? undefined : eq(operations.state, state)
  const rows = await drainRows(db)
    .where(and(lt(operations.id, before), inState))
    .orderBy(desc(operations.id))
    .limit(max)
  return rows.map(drainOf)
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

/** Ends a running operation, with an event; false for one that has ended already. */
export async function endDrain(
  tx: Tx,
  { id, cellId, subject: host }: HostDrain,
  state: Exclude<OperationState, 'running'>,
  message: string | null,
): Promise<boolean> {
  const ended = state === 'done' ? { remaining: 0 } : {}
  const [result] = await tx.orm
    .update(operations)
    .set({ ...ended, state, message, slot: null, updatedAt: now, endedAt: now })
    .where(and(eq(operations.id, id), eq(operations.state, 'running')))
  if (result.affectedRows === 0) return false
  const details = { host, action: HOST_DRAIN, state, message }
  queueEvents(tx, [{ type: 'operation.state', cellId, details }])
  return true
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
  return {
    ...shown,
    isLate: isLate === 1,
    state: row.state as OperationState,
    subjectId: row.subjectId as HostId,
    cellId: row.cellId as CellId,
    isCancellable: row.state === 'running',
  }
}
