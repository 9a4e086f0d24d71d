import { sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'

const NOW = sqlStatement(sql`select unix_timestamp(now(3)) as now`)

/** The time of day at the database, in milliseconds since the epoch. */
export async function databaseTime(db: Executor): Promise<number> {
  const [row] = await db.rows<{ readonly now: number | string }>(NOW, {})
  return Number(row?.now) * 1_000
}
