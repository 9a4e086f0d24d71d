import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { WorkContext } from '../context.ts'
import { isInFuture } from '../db/columns.ts'
import type { Executor, Transactional, Tx } from '../db/database.ts'
import { builder, sqlStatement, statement } from '../db/statement.ts'
import { type ErrorKind, Failure } from '../errors.ts'
import type { SagaId } from '../ids.ts'
import type { Lease } from './lease.ts'
import type { LogRow } from './progress.ts'
import type { Json, SagaState } from './saga.ts'
import { leases, type SagaExecution, sagas } from './schema.ts'

export interface SagaRecord {
  readonly id: SagaId
  readonly name: string
  readonly version: number
  readonly subject: string
  readonly params: Json
  readonly work: WorkContext
}

/** A saga taken up again. */
export interface AdoptedSaga extends SagaRecord {
  /** A process ended while it worked on the saga, which may be the cause. */
  readonly isSuspect: boolean
  readonly log: readonly LogRow[]
}

/** Enough for a message and where it came from. */
const WHY_MAX = 1_000

const id = sql.placeholder('id')
const now = sql`now(3)`

const INSERT = statement(
  builder.insert(sagas).values({
    id,
    name: sql.placeholder('name'),
    version: sql.placeholder('version'),
    state: sql.placeholder('state'),
    subject: sql.placeholder('subject'),
    params: sql.placeholder('params'),
    work: sql.placeholder('work'),
    log: sql.placeholder('log'),
    execution: sql`${sql.placeholder('execution')}`,
    owner: sql.placeholder('owner'),
    generation: sql.placeholder('generation'),
    resumeAt: now,
    createdAt: now,
  }),
)

const isUnfinished = inArray(sagas.state, ['running', 'unwinding'])

const HOLD = statement(
  builder
    .update(sagas)
    .set({
      state: sql`${sql.placeholder('state')}`,
      params: sql`coalesce(${sql.placeholder('params')}, params)`,
      log: sql`coalesce(${sql.placeholder('log')}, log)`,
      execution: sql`if(execution = 'suspect' and ${sql.placeholder('isStep')} = 0, execution, ${sql.placeholder('execution')})`,
      why: sql`${sql.placeholder('why')}`,
      resumeAt: sql`now(3) + interval ${sql.placeholder('pauseMs')} * 1000 microsecond`,
    })
    .where(
      and(
        eq(sagas.id, id),
        eq(sagas.owner, sql.placeholder('owner')),
        eq(sagas.generation, sql.placeholder('generation')),
        isUnfinished,
      ),
    ),
  { keys: ['id'] },
)

const LOG = statement(builder.select({ log: sagas.log }).from(sagas).where(eq(sagas.id, id)))

/** Waits for a transaction that is about to write the row, and may not have noticed that its client is gone. */
const FOUND = statement(
  builder
    .select({ state: sagas.state, steps: sql<number>`json_length(${sagas.log})`.as('steps') })
    .from(sagas)
    .where(eq(sagas.id, id))
    .for('update'),
)

interface Found {
  readonly state: SagaState
  readonly steps: number
}

async function findLocked(db: Transactional, saga: SagaId): Promise<Found | undefined> {
  const [row] = await db.transaction((tx) => tx.rows<Found>(FOUND, { id: saga }))
  return row
}

/** Begins the saga's row, with all steps done so far. The row shows whether the transaction has committed. */
export function queueSaga(
  tx: Tx,
  saga: SagaRecord,
  lease: Lease,
  { state, params = saga.params as object, log }: Omit<Hold, 'pauseMs'>,
): void {
  const { name: owner, generation } = lease
  const execution = executionOf(state, 0)
  tx.queue(INSERT, { ...saga, owner, generation, state, params, execution, log: log ?? [] })
  tx.shownBy(async (db) => (await findLocked(db, saga.id)) !== undefined)
}

/** The next state of a saga's row. */
export interface Hold {
  readonly state: SagaState
  /** Not taken up again before; 0 when absent. */
  readonly pauseMs?: number
  /** In place of its params; absent: they stay. */
  readonly params?: object | undefined
  /** In place of its log, which this begins with; absent: it stays. */
  readonly log?: readonly LogRow[]
  /** Of one that is stuck. */
  readonly why?: string
}

/**
 * Sets the saga's state if it has not ended and this process still owns it; fails with `SagaLost` otherwise. Part of
 * every transaction of a step: it is the fence that rolls back what a process without the lease did. The row shows
 * whether the transaction has committed.
 */
export function queueSagaHold(tx: Tx, saga: SagaId, lease: Lease, hold: Hold): void {
  tx.queue(HOLD, holdValues(saga, lease, hold), {
    rows: 1,
    otherwise: () => new SagaLost(saga),
  })
  const { state, log } = hold
  tx.shownBy(async (db) => {
    const found = await findLocked(db, saga)
    return log === undefined ? found?.state === state : (found?.steps ?? 0) >= log.length
  })
}

/** Like `queueSagaHold`, where nothing else is to be written: at once, and due again after a pause. */
export async function markSaga(
  db: Executor,
  saga: SagaId,
  lease: Lease,
  hold: Hold,
): Promise<void> {
  const { affectedRows } = await db.run(HOLD, holdValues(saga, lease, hold))
  if (affectedRows !== 1) throw new SagaLost(saga)
}

/** The saga has ended, or another process has taken it: all further writes of this process to it are rolled back. */
export class SagaLost extends Failure {
  constructor(saga: SagaId) {
    super('conflict', `Saga ${saga} has ended or belongs to another process.`)
  }
}

function holdValues(id: SagaId, lease: Lease, { state, pauseMs = 0, params, log, why }: Hold) {
  const { name: owner, generation } = lease
  const json = (value: object | undefined) => (value === undefined ? null : JSON.stringify(value))
  return {
    id,
    owner,
    generation,
    state,
    pauseMs,
    params: json(params),
    log: json(log),
    execution: executionOf(state, pauseMs),
    isStep: log === undefined ? 0 : 1,
    why: why?.slice(0, WHY_MAX) ?? null,
  }
}

/** A saga that continues without a pause is being worked on by a process. */
function executionOf(state: SagaState, pauseMs: number): SagaExecution {
  return (state === 'running' || state === 'unwinding') && pauseMs === 0 ? 'active' : 'idle'
}

/** True for a saga that has begun, whether or not it is over, until it is purged. */
export async function hasBegun(db: Executor, saga: SagaId): Promise<boolean> {
  return (await db.rows(LOG, { id: saga })).length > 0
}

/** Why the saga unwound, as its log has it; undefined when no step failed. */
export async function readFailure(db: Executor, saga: SagaId): Promise<Failure | undefined> {
  const [row] = await db.rows<{ log: readonly LogRow[] }>(LOG, { id: saga })
  const failed = row?.log.find(({ event }) => event === 'failed')
  if (failed === undefined) return undefined
  const { kind, message } = failed.data as { readonly kind: ErrorKind; readonly message: string }
  return new Failure(kind, message)
}

/** Which sagas a process takes up. */
export interface Adoption {
  readonly max: number
  /** At work here; those that begin while the database is read are added to it. */
  readonly running: ReadonlySet<SagaId>
}

/**
 * Afterwards this process executes none of its unfinished sagas, or none of these: if it ends now, they are no suspects.
 */
export async function releaseSagas(
  db: Executor,
  lease: Lease,
  ids?: readonly SagaId[],
): Promise<void> {
  await db.orm
    .update(sagas)
    .set({ execution: 'idle' })
    .where(
      and(
        eq(sagas.owner, lease.name),
        eq(sagas.generation, lease.generation),
        eq(sagas.execution, 'active'),
        ids === undefined ? undefined : inArray(sagas.id, [...ids]),
      ),
    )
}

/** Afterwards the saga, if it has not ended, is due again after a pause, and remains a suspect. */
export async function postponeSuspect(
  db: Executor,
  lease: Lease,
  saga: SagaId,
  pauseMs: number,
): Promise<void> {
  await db.orm
    .update(sagas)
    .set({ execution: 'suspect', resumeAt: sql`now(3) + interval ${pauseMs} * 1000 microsecond` })
    .where(
      and(
        eq(sagas.id, saga),
        eq(sagas.owner, lease.name),
        eq(sagas.generation, lease.generation),
        isUnfinished,
      ),
    )
}

/** Afterwards a stuck saga is due again, and is a suspect: it may end its process once more. False for one that is not stuck. */
export async function continueSaga(db: Executor, saga: string): Promise<boolean> {
  const hasFailed = sql`json_contains(json_extract(log, '$[*].event'), '"failed"')`
  const [result] = await db.orm
    .update(sagas)
    .set({
      state: sql`if(${hasFailed}, 'unwinding', 'running')`,
      execution: 'suspect',
      why: null,
      resumeAt: now,
    })
    .where(and(eq(sagas.id, saga), eq(sagas.state, 'stuck')))
  return result.affectedRows === 1
}

const ABANDONED = sql`sagas.state in ('running', 'unwinding')
  and (sagas.generation <> leases.generation or leases.expires_at < now(3))`
/** The others are taken the next time. */
const ABANDONED_MAX = 1_000

/**
 * The pause of a saga that rests is over, or ends later than any pause lasts: the database's clock was set back since. Else
 * a saga would wait for as long as the clock had been ahead.
 */
const isDue = sql`(resume_at <= now(3) or ${isInFuture(sql`resume_at`)})`

/**
 * Whether there is any that `adoptSagas` would look at; of `leaseParams`. It is part of a question that every process asks
 * every second, and hardly ever so.
 */
export const ANY_ADOPTABLE = sql`(
  exists (select 1 from sagas join leases on leases.name = sagas.owner where ${ABANDONED})
    or exists (select 1 from sagas where owner = ${sql.placeholder('owner')}
      and generation = ${sql.placeholder('generation')}
      and state in ('running', 'unwinding') and ${isDue}))`

/** The lease as parameters of the statements of this file. */
export function leaseParams({ name: owner, generation }: Lease) {
  return { owner, generation }
}

const ADOPTABLE = sqlStatement(sql`select ${ANY_ADOPTABLE} as is_any`)

/**
 * Looked for first without locks, because there seldom are any: an update that looked itself would wait for every saga
 * at work, and every saga for it.
 */
async function takeAbandoned(db: Executor, lease: Lease): Promise<void> {
  const found = await db.orm
    .select({ id: sagas.id })
    .from(sagas)
    .innerJoin(leases, eq(leases.name, sagas.owner))
    .where(ABANDONED)
    .limit(ABANDONED_MAX)
  if (found.length === 0) return
  await db.orm.execute(sql`
    update ${sagas} join leases on leases.name = sagas.owner
    set sagas.owner = ${lease.name}, sagas.generation = ${lease.generation},
      sagas.execution = if(sagas.execution = 'active', 'suspect', sagas.execution)
    where ${inArray(
      sagas.id,
      found.map(({ id: abandoned }) => abandoned),
    )} and ${ABANDONED}`)
}

/**
 * Makes this process the owner of unfinished sagas: its predecessor's (same name, older generation) at once, others'
 * when their process's lease has expired. Returns at most `max` that are due and not `running` here, those first that
 * have been due for longest: a remote that stays silent must not keep the others from their turn.
 */
export async function adoptSagas(
  db: Executor,
  lease: Lease,
  { max, running }: Adoption,
): Promise<readonly AdoptedSaga[]> {
  const { name: owner, generation } = lease
  const [found] = await db.rows<{ is_any: number }>(ADOPTABLE, leaseParams(lease))
  if (found?.is_any !== 1) return []
  await takeAbandoned(db, lease)
  const isOwn = and(eq(sagas.owner, owner), eq(sagas.generation, generation))
  const rows = await db.orm
    .select()
    .from(sagas)
    .where(and(isOwn, isUnfinished, isDue))
    .orderBy(asc(sagas.resumeAt))
    .limit(max + running.size)
  const idle = rows.filter((row) => !running.has(row.id as SagaId)).slice(0, max)
  const trusted = idle.filter(({ execution }) => execution !== 'suspect').map((row) => row.id)
  if (trusted.length > 0)
    await db.orm
      .update(sagas)
      .set({ execution: 'active' })
      .where(and(inArray(sagas.id, trusted), isOwn, isUnfinished))
  return idle.map(adopted)
}

/** A saga that this process owns and that has not ended; undefined for any other. */
export async function readSaga(
  db: Executor,
  { name: owner, generation }: Lease,
  saga: SagaId,
): Promise<AdoptedSaga | undefined> {
  const isOwn = and(eq(sagas.owner, owner), eq(sagas.generation, generation))
  const [row] = await db.orm
    .select()
    .from(sagas)
    .where(and(eq(sagas.id, saga), isOwn, isUnfinished))
  return row && adopted(row)
}

function adopted(row: typeof sagas.$inferSelect): AdoptedSaga {
  return {
    isSuspect: row.execution === 'suspect',
    id: row.id as SagaId,
    name: row.name,
    version: row.version,
    subject: row.subject,
    params: row.params as Json,
    work: row.work as WorkContext,
    log: row.log,
  }
}
