import { asc, eq, inArray, sql } from 'drizzle-orm'
import type { WorkContext } from '../context.ts'
import type { Executor } from '../db/database.ts'
import { sqlStatement } from '../db/statement.ts'
import type { SagaState } from './saga.ts'
import { sagas } from './schema.ts'

/** A saga as operators are shown it. */
export interface ShownSaga {
  readonly id: string
  readonly name: string
  readonly subject: string
  readonly state: SagaState
  /** Of one that is stuck; null where only its log says why. */
  readonly why: string | null
  readonly requestId: string | null
  readonly startedAt: Date
  /** When it ended or got stuck; null while it is in progress. */
  readonly endedAt: Date | null
}

const { id, name, subject, state, why, work, createdAt, resumeAt } = sagas
/** The columns that `shownSaga` reads. */
export const SHOWN_COLUMNS = { id, name, subject, state, why, work, createdAt, resumeAt }

const COUNT = sqlStatement(sql`select count(*) as stuck from sagas where state = 'stuck'`)
const OVER: readonly SagaState[] = ['done', 'unwound', 'stuck']

/** How many sagas wait for an operator. */
export async function countStuck(db: Executor): Promise<number> {
  const [row] = await db.rows<{ stuck: number }>(COUNT, {})
  return row!.stuck
}

/** The oldest sagas that wait for an operator, at most `max`, and those of these ids that are there, in any state. */
export async function readStuck(
  db: Executor,
  max: number,
  ids: readonly string[],
): Promise<readonly ShownSaga[]> {
  const select = () => db.orm.select(SHOWN_COLUMNS).from(sagas)
  const asked = ids.length === 0 ? [] : await select().where(inArray(sagas.id, [...ids]))
  const stuck = await select().where(eq(sagas.state, 'stuck')).orderBy(asc(sagas.id)).limit(max)
  const byId = new Map([...asked, ...stuck].map((row) => [row.id, row]))
  return [...byId.values()].map(shownSaga)
}

/** The row of a stuck saga as operators see it. */
export function shownSaga(
  row: Pick<typeof sagas.$inferSelect, keyof typeof SHOWN_COLUMNS>,
): ShownSaga {
  const { work: context, createdAt: startedAt, resumeAt: restsUntil, ...shown } = row
  const requestId = (context as Partial<WorkContext>).requestId ?? null
  const inState = shown.state as SagaState
  const endedAt = OVER.includes(inState) ? restsUntil : null
  return { ...shown, state: inState, requestId, startedAt, endedAt }
}
