import { sql } from 'drizzle-orm'
import type { Executor } from '../db/database.ts'
import { sqlStatement } from '../db/statement.ts'

/** The sagas of one name and state that have not ended. */
export interface UnfinishedSagas {
  readonly name: string
  readonly state: 'running' | 'unwinding' | 'stuck'
  readonly count: number
  /** In seconds, by the clock of the database. */
  readonly oldestAgeS: number
}

const UNFINISHED = sqlStatement(sql`
  select name, state, count(*) as count,
    timestampdiff(microsecond, min(created_at), now(3)) / 1e6 as oldest_age_s
  from sagas where state in ('running', 'unwinding', 'stuck') group by name, state`)

/** One question by a key of which few rows have these values. */
export async function unfinishedSagas(db: Executor): Promise<readonly UnfinishedSagas[]> {
  const rows = await db.rows<
    Pick<UnfinishedSagas, 'name' | 'state' | 'count'> & { readonly oldest_age_s: string }
  >(UNFINISHED, {})
  return rows.map(({ name, state, count, oldest_age_s }) => {
    return { name, state, count, oldestAgeS: Math.max(0, Number(oldest_age_s)) }
  })
}
