import { and, desc, eq, lt, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import type { InstanceId } from '#common/ids.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import { instances, operations } from './schema/instances.ts'

const p = sql.placeholder
const BUILD_SLOT = 'build'

export type BuildOutcome = 'accepted' | 'refused' | 'deleted'
/** How an accepted attempt ended in this cell. */
export type AttemptEnd = 'deleted' | 'not-built'

/** The answer to which the cell has committed itself for one attempt. */
export interface AttemptRecord {
  readonly attempt: number
  readonly outcome: BuildOutcome
  readonly ended: AttemptEnd | null
  readonly reason: string | null
  readonly trace: Trace | null
}

/** Nothing is inserted when a newer attempt is known: the table is read without locks, by primary key. */
const INSERT_BUILD = statement(
  builder.insert(operations).select(
    builder
      .select({
        serverId: sql`${p('serverId')}`.as('server_id'),
        attempt: sql`${p('attempt')}`.as('attempt'),
        slot: sql`${BUILD_SLOT}`.as('slot'),
        operationId: sql`${p('id')}`.as('operation_id'),
        outcome: sql`${p('outcome')}`.as('outcome'),
        ended: sql`''`.as('ended'),
        reason: sql`${p('reason')}`.as('reason'),
        trace: sql`${p('trace')}`.as('trace'),
        createdAt: sql`now(3)`.as('created_at'),
      })
      .from(sql`dual`)
      .where(
        sql`not exists (select 1 from ${operations} as newer where newer.server_id = ${p('serverId')} and newer.attempt > ${p('attempt')})`,
      ),
  ),
)

const INSERT_OTHER = statement(
  builder.insert(operations).values({
    serverId: p('serverId'),
    attempt: p('attempt'),
    slot: p('id'),
    operationId: p('id'),
    outcome: p('outcome'),
    reason: p('reason'),
    trace: null,
    createdAt: sql`now(3)`,
  }),
)

const isAttempt = and(eq(operations.serverId, p('serverId')), eq(operations.attempt, p('attempt')))

const RECORD = {
  attempt: operations.attempt,
  outcome: operations.outcome,
  ended: operations.ended,
  reason: operations.reason,
  trace: operations.trace,
}

const FIND_BUILD = statement(
  builder
    .select(RECORD)
    .from(operations)
    .where(and(isAttempt, eq(operations.slot, BUILD_SLOT))),
)

const NEWEST = statement(
  builder
    .select(RECORD)
    .from(operations)
    .where(and(eq(operations.serverId, p('serverId')), eq(operations.slot, BUILD_SLOT)))
    .orderBy(desc(operations.attempt))
    .limit(1),
)

const DELETED = sqlStatement(sql`
  select server_id, attempt from operations o
  join json_table(${p('serverIds')}, '$[*]' columns (
    id varchar(36) character set ascii collate ascii_bin path '$')) v on v.id = o.server_id
  where o.slot = ${BUILD_SLOT} and o.ended = 'deleted' and not exists (
    select 1 from operations n where n.server_id = o.server_id and n.attempt > o.attempt)`)

const FIND_OTHER = statement(
  builder
    .select({ outcome: operations.outcome, reason: operations.reason })
    .from(operations)
    .where(and(isAttempt, eq(operations.slot, p('id')))),
)

const END = statement(
  builder
    .update(operations)
    .set({ ended: sql`${p('ended')}`, reason: sql`${p('reason')}` })
    .where(and(isAttempt, eq(operations.slot, BUILD_SLOT))),
  { keys: ['serverId'] },
)

const SET_TRACE = statement(
  builder
    .update(operations)
    .set({ trace: sql`${p('trace')}` })
    .where(and(isAttempt, eq(operations.slot, BUILD_SLOT))),
)

/** Records of servers the cell still has stay, however old. */
const PURGE = statement(
  builder
    .delete(operations)
    .where(
      and(
        lt(operations.createdAt, p('before')),
        sql`not exists (select 1 from ${instances} where ${instances.serverId} = ${operations.serverId})`,
      ),
    )
    .limit(p('max')),
)

interface RecordRow {
  readonly attempt: number
  readonly outcome: BuildOutcome
  readonly ended: AttemptEnd | ''
  readonly reason: string | null
  readonly trace: string | null
}

export interface BuildRecord {
  readonly operation: OperationRef
  readonly outcome: BuildOutcome
  readonly reason?: string
  /** JSON text. */
  readonly trace?: string
}

/**
 * Commits the cell to its answer for an attempt. False when a newer attempt of the server is known; throws a
 * duplicate-key error when this one has its answer already.
 */
export async function insertBuildRecord(db: Executor, record: BuildRecord): Promise<boolean> {
  return (await db.run(INSERT_BUILD, recordValues(record))).affectedRows === 1
}

/** Like `insertBuildRecord`, as part of a transaction, which fails with `otherwise` when a newer attempt is known. */
export function queueBuildRecord(tx: Tx, record: BuildRecord, otherwise: () => Error): void {
  tx.queue(INSERT_BUILD, recordValues(record), { rows: 1, otherwise })
}

/** The recorded outcome of a build attempt; undefined if the cell has none. */
export async function findBuildRecord(
  db: Executor,
  { serverId, attempt }: Pick<OperationRef, 'serverId' | 'attempt'>,
): Promise<AttemptRecord | undefined> {
  const [row] = await db.rows<RecordRow>(FIND_BUILD, { serverId, attempt })
  return row === undefined ? undefined : fromRow(row)
}

/** The record of the newest attempt known of a server. */
export async function newestBuildRecord(
  db: Executor,
  serverId: InstanceId,
): Promise<AttemptRecord | undefined> {
  const [row] = await db.rows<RecordRow>(NEWEST, { serverId })
  return row === undefined ? undefined : fromRow(row)
}

/** Those of the servers whose newest attempt was deleted here, each with that attempt. */
export async function deletedAttempts(
  db: Executor,
  serverIds: readonly string[],
): Promise<readonly { readonly serverId: string; readonly attempt: number }[]> {
  const rows = await db.rows<{ server_id: string; attempt: number }>(DELETED, {
    serverIds: JSON.stringify(serverIds),
  })
  return rows.map((row) => ({ serverId: row.server_id, attempt: row.attempt }))
}

/** Afterwards the attempt is known to be over here. */
export function queueAttemptEnd(
  tx: Tx,
  { id, attempt }: { readonly id: InstanceId; readonly attempt: number },
  ended: AttemptEnd,
  reason: string | null,
): void {
  tx.queue(END, { serverId: id, attempt, ended, reason })
}

/** Afterwards the newest decision about the attempt is this one. */
export async function recordTrace(
  tx: Executor,
  { id, attempt }: { readonly id: InstanceId; readonly attempt: number },
  trace: Trace,
): Promise<void> {
  await tx.run(SET_TRACE, { serverId: id, attempt, trace: JSON.stringify(trace) })
}

export interface OperationRecord {
  readonly outcome: 'accepted' | 'refused'
  readonly reason: string | null
}

/** Remembers what an operation other than build and delete was answered; throws a duplicate-key error for a repeat. */
export async function insertOperation(
  tx: Executor,
  operation: OperationRef,
  record: OperationRecord,
): Promise<void> {
  await tx.run(INSERT_OTHER, { ...operation, ...record })
}

/** The recorded outcome of an operation other than a build. */
export async function findOperation(
  db: Executor,
  operation: OperationRef,
): Promise<OperationRecord | undefined> {
  const [row] = await db.rows<OperationRecord>(FIND_OTHER, { ...operation })
  return row
}

/** Forgets at most `max` answers given before a time. Returns how many. */
export async function purgeOperations(db: Executor, before: Date, max: number): Promise<number> {
  const { affectedRows } = await db.run(PURGE, { before, max: BigInt(max) })
  return affectedRows
}

function recordValues(record: BuildRecord) {
  const { operation, outcome, reason = null, trace = null } = record
  return { ...operation, outcome, reason, trace }
}

function fromRow({ ended, trace, ...row }: RecordRow): AttemptRecord {
  return {
    ...row,
    ended: ended === '' ? null : ended,
    trace: trace === null ? null : (JSON.parse(trace) as Trace),
  }
}
