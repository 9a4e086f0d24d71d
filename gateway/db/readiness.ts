import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import type { Database } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'

/** The folder of the global database's migrations. */
export const MIGRATIONS_FOLDER = join(import.meta.dirname, 'migrations')

const APPLIED = statement(
  builder.select({ newest: sql`MAX(created_at)`.as('newest') }).from(sql`__drizzle_migrations`),
)

/** Undefined when the database has every migration this code was written for; else the missing ones. */
export async function databaseReadiness(db: Database): Promise<string | undefined> {
  const rows = await db.rows<{ readonly newest: number | string | null }>(APPLIED, {})
  const applied = Number(rows[0]?.newest ?? 0)
  return applied >= newestMigration() ? undefined : 'the database lacks migrations'
}

let newest: number | undefined

function newestMigration(): number {
  newest ??= readJournal()
  return newest
}

function readJournal(): number {
  const text = readFileSync(join(MIGRATIONS_FOLDER, 'meta/_journal.json'), 'utf8')
  const { entries } = JSON.parse(text) as { readonly entries: readonly { readonly when: number }[] }
  return Math.max(0, ...entries.map(({ when }) => when))
}
