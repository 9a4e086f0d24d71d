import { and, desc, eq, inArray, lt } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { sagas } from '#common/saga/schema.ts'
import type { OperationRecord, OperationState } from './operations.ts'

const STATES: Readonly<Record<string, OperationState>> = {
  running: 'running',
  unwinding: 'running',
  done: 'done',
  unwound: 'failed',
}

/** Sagas that have not ended, the newest first, from before an id. */
export async function listSagas(
  db: Executor,
  before: string,
  max: number,
): Promise<readonly OperationRecord[]> {
  const rows = await select(db)
    .where(and(lt(sagas.id, before), inArray(sagas.state, ['running', 'unwinding'])))
    .orderBy(desc(sagas.id))
    .limit(max)
  return rows.map(operationOf)
}

export async function findSaga(db: Executor, id: string): Promise<OperationRecord | undefined> {
  const rows = await select(db).where(eq(sagas.id, id))
  return rows.map(operationOf)[0]
}

function select(db: Executor) {
  const { id, name, state, subject, work, createdAt, resumeAt } = sagas
  return db.orm
    .select({ id, name, state, subject, work, createdAt, resumeAt })
    .from(sagas)
    .$dynamic()
}

type Row = Awaited<ReturnType<typeof select>>[number]

function operationOf({
  id,
  name,
  state,
  subject,
  work,
  createdAt,
  resumeAt,
}: Row): OperationRecord {
  const endedAt = state === 'done' || state === 'unwound' ? resumeAt : null
  return {
    id,
    kind: name,
    state: STATES[state] ?? 'running',
    subjectId: subject,
    subject,
    cellId: null,
    total: null,
    remaining: null,
    message: state === 'unwinding' ? 'It failed, and what it did is being undone.' : null,
    userId: null,
    requestId: (work as { readonly requestId?: string }).requestId ?? null,
    startedAt: createdAt,
    updatedAt: endedAt ?? createdAt,
    endedAt,
    isCancellable: false,
  }
}
