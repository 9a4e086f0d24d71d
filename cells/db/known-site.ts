import { eq, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import type { HeardSite, SiteAnnouncement } from '#openapi/wire/site.ts'
import { knownSite } from './schema/site.ts'

const p = sql.placeholder
const ROW_ID = 1

const READ = statement(
  builder
    .select({ generation: knownSite.generation, announcement: knownSite.announcement })
    .from(knownSite)
    .where(eq(knownSite.id, ROW_ID)),
)
const RAISE = sqlStatement(
  sql`
  insert into known_site (id, generation) values (${ROW_ID}, ${p('generation')})
  on duplicate key update generation = greatest(generation, values(generation))`,
  { sums: [] },
)
/** MariaDB assigns in this order: `announcement` sees the former generation. */
const ANNOUNCE = sqlStatement(
  sql`
  insert into known_site (id, generation, announcement)
  values (${ROW_ID}, ${p('generation')}, ${p('announcement')})
  on duplicate key update
    announcement = if(values(generation) >= generation, values(announcement), announcement),
    generation = greatest(generation, values(generation))`,
  { sums: [] },
)

/** What the cell has heard of the sites of its deployment; undefined where it has heard nothing. */
export async function readKnownSite(db: Executor): Promise<HeardSite | undefined> {
  const [row] = await db.rows<{ generation: number; announcement: SiteAnnouncement | null }>(
    READ,
    {},
  )
  if (row === undefined) return undefined
  const { generation, announcement } = row
  return announcement === null ? { generation } : { generation, announcement }
}

/** Afterwards the cell knows this generation, or a higher one. */
export async function raiseGeneration(db: Executor, generation: number): Promise<void> {
  await db.run(RAISE, { generation })
}

/** Afterwards the cell knows the announcement, unless it has heard of a higher generation. */
export async function keepAnnouncement(
  db: Executor,
  announcement: SiteAnnouncement,
): Promise<void> {
  const { generation } = announcement
  await db.run(ANNOUNCE, { generation, announcement: JSON.stringify(announcement) })
}
