import { and, desc, eq, inArray, lt } from 'drizzle-orm'
import type { Executor, Transactional } from '#common/db/database.ts'
import type { SagaRecord } from '#common/saga/log.ts'
import { sagas } from '#common/saga/schema.ts'
import { addEvents } from './event-inbox.ts'
import type { OperationRecord, OperationState } from './operations.ts'

const STATES: Readonly<Record<string, OperationState>> = {
  running: 'running',
  unwinding: 'running',
  done: 'done',
  unwound: 'failed',
  stuck: 'failed',
}

/** Those that operators should know of: what is under way, and what is stuck. */
const SHOWN = { running: ['running', 'unwinding'], failed: ['stuck'] } as const

/** Afterwards readers of events know that the saga waits for an operator, and why. */
export async function tellStuck(
  db: Transactional,
  { id, name, subject }: SagaRecord,
): Promise<void> {
  const [row] = await db.orm.select({ why: sagas.why }).from(sagas).where(eq(sagas.id, id))
  const message = `${name} of ${subject} is stuck: ${row?.why ?? 'its log says why.'}`
  const details = { action: name, state: 'stuck', message }
  await db.transaction((tx) => addEvents(tx, [{ type: 'operation.state', cellId: null, details }]))
}

/** How many sagas wait for an operator. */
export async function countStuck(db: Executor): Promise<number> {
  return db.orm.$count(sagas, eq(sagas.state, 'stuck'))
}

/** Sagas that have not ended, stuck ones among them, the newest first, from before an id. */
export async function listSagas(
  db: Executor,
  before: string,
  max: number,
  state?: keyof typeof SHOWN,
): Promise<readonly OperationRecord[]> {
  const states = state === undefined ? Object.values(SHOWN).flat() : SHOWN[state]
  const rows = await select(db)
    .where(and(lt(sagas.id, before), inArray(sagas.state, [...states])))
    .orderBy(desc(sagas.id))
    .limit(max)
  return rows.map(operationOf)
}

export async function findSaga(db: Executor, id: string): Promise<OperationRecord | undefined> {
  const rows = await select(db).where(eq(sagas.id, id))
  return rows.map(operationOf)[0]
}

function select(db: Executor) {
  const { id, name, state, subject, why, work, createdAt, resumeAt } = sagas
  return db.orm
    .select({ id, name, state, subject, why, work, createdAt, resumeAt })
    .from(sagas)
    .$dynamic()
}

type Row = Awaited<ReturnType<typeof select>>[number]

function operationOf({
  id,
  name,
  state,
  subject,
  why,
  work,
  createdAt,
  resumeAt,
}: Row): OperationRecord {
  const endedAt = ['done', 'unwound', 'stuck'].includes(state) ? resumeAt : null
  return {
    id,
    kind: name,
    state: STATES[state] ?? 'running',
    subjectId: subject,
    subject,
    cellId: null,
    total: null,
    remaining: null,
    message: messageOf(state, why),
    userId: null,
    requestId: (work as { readonly requestId?: string }).requestId ?? null,
    startedAt: createdAt,
    updatedAt: endedAt ?? createdAt,
    endedAt,
    isCancellable: false,
  }
}

function messageOf(state: string, why: string | null): string | null {
  if (state === 'unwinding') return 'It failed, and what it did is being undone.'
  if (state !== 'stuck') return null
  return `It is stuck: ${why ?? 'its log says why.'} ./weir operation continue goes on with it.`
}
