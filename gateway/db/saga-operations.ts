import { and, desc, eq, inArray, lt } from 'drizzle-orm'
import type { Executor, Transactional } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import type { SagaRecord } from '#common/saga/log.ts'
import type { SagaState } from '#common/saga/saga.ts'
import { sagas } from '#common/saga/schema.ts'
import { SHOWN_COLUMNS, type ShownSaga, shownSaga } from '#common/saga/stuck.ts'
import { type NewEvent, queueEvents } from './event-inbox.ts'
import type { OperationRecord, OperationState } from './operations.ts'

const STATES: Readonly<Record<SagaState, OperationState>> = {
  running: 'running',
  unwinding: 'running',
  done: 'done',
  unwound: 'failed',
  stuck: 'failed',
}

/** The sagas that operators should see: running ones and stuck ones. */
const SHOWN = { running: ['running', 'unwinding'], failed: ['stuck'] } as const
export type ShownState = keyof typeof SHOWN

/** The states of sagas that are listed among operations of this state; absent: of any. */
export function shownStates(state?: ShownState): readonly SagaState[] {
  return state === undefined ? Object.values(SHOWN).flat() : SHOWN[state]
}

/** Afterwards readers of events know that the saga waits for an operator, and why. */
export async function recordStuckEvent(
  db: Transactional,
  { id, name, subject }: SagaRecord,
): Promise<void> {
  const [row] = await db.orm.select({ why: sagas.why }).from(sagas).where(eq(sagas.id, id))
  const why = row?.why ?? null
  await db.transaction((tx) => queueEvents(tx, [stuckEvent({ name, subject, why }, null)]))
}

/** That a saga waits for an operator; `cellId` is null for one of a gateway. */
export function stuckEvent(
  { name, subject, why }: Pick<ShownSaga, 'name' | 'subject' | 'why'>,
  cellId: CellId | null,
): NewEvent {
  const message = `${name} of ${subject} is stuck: ${why ?? 'its log says why.'}`
  return { type: 'operation.state', cellId, details: { action: name, state: 'stuck', message } }
}

/** Sagas of gateways that have not ended, stuck ones among them, the newest first, from before an id. */
export async function listSagas(
  db: Executor,
  before: string,
  max: number,
  state?: ShownState,
): Promise<readonly OperationRecord[]> {
  const rows = await db.orm
    .select(SHOWN_COLUMNS)
    .from(sagas)
    .where(and(lt(sagas.id, before), inArray(sagas.state, [...shownStates(state)])))
    .orderBy(desc(sagas.id))
    .limit(max)
  return rows.map((row) => operationOf(shownSaga(row), null))
}

export async function findSaga(db: Executor, id: string): Promise<OperationRecord | undefined> {
  const rows = await db.orm.select(SHOWN_COLUMNS).from(sagas).where(eq(sagas.id, id))
  return rows.map((row) => operationOf(shownSaga(row), null))[0]
}

/** A saga among operations; `cellId` is null for one of a gateway. */
export function operationOf(saga: ShownSaga, cellId: CellId | null): OperationRecord {
  const { id, name, state, subject, why, requestId, startedAt, endedAt } = saga
  return {
    id,
    kind: name,
    state: STATES[state],
    subjectId: subject,
    subject,
    cellId,
    total: null,
    remaining: null,
    message: messageOf(state, why),
    userId: null,
    requestId,
    startedAt,
    updatedAt: endedAt ?? startedAt,
    endedAt,
    isCancellable: false,
  }
}

function messageOf(state: SagaState, why: string | null): string | null {
  if (state === 'unwinding') return 'It failed, and what it did is being undone.'
  if (state !== 'stuck') return null
  return `It is stuck: ${why ?? 'its log says why.'} ./weir operation continue goes on with it.`
}
