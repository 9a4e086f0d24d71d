import { and, inArray, lt, sql } from 'drizzle-orm'
import type { Executor } from '../db/database.ts'
import { builder, statement } from '../db/statement.ts'
import { sagas } from './schema.ts'

const PURGE = statement(
  builder
    .delete(sagas)
    .where(
      and(inArray(sagas.state, ['done', 'unwound']), lt(sagas.resumeAt, sql.placeholder('before'))),
    )
    .limit(sql.placeholder('max')),
)

/** Removes at most `max` sagas that ended before a time. Returns how many. */
export async function purgeSagas(db: Executor, before: Date, max: number): Promise<number> {
  const { affectedRows } = await db.run(PURGE, { before, max: BigInt(max) })
  return affectedRows
}
