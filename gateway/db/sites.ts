import { asc, eq, lt, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import { activeSite, sites } from './schema/sites.ts'

/** A site of the deployment. */
export interface Site {
  readonly name: string
  /** Where clients, cells and hosts reach its gateways. */
  readonly url: string
  /** `HOST:PORT` of each of its database servers, with commas between them. */
  readonly databases: string
}

/** The site that was promoted last, as this database shows it. */
export interface ActiveSite {
  readonly name: string
  readonly generation: number
  /** A later promotion of another site, of which the gateways of this one heard. */
  readonly successor: Successor | undefined
}

export interface Successor {
  readonly name: string
  readonly url: string
  readonly generation: number
}

const ROW_ID = 1
const FIRST_OF_ALL = 1

const ACTIVE = statement(
  builder
    .select({
      name: activeSite.name,
      generation: activeSite.generation,
      succeeded_by: activeSite.succeededBy,
      succeeded_url: activeSite.succeededUrl,
      succeeded_generation: activeSite.succeededGeneration,
    })
    .from(activeSite)
    .where(eq(activeSite.id, ROW_ID)),
)

interface ActiveRow {
  readonly name: string
  readonly generation: number
  readonly succeeded_by: string | null
  readonly succeeded_url: string | null
  readonly succeeded_generation: number | null
}

/** Undefined in a database of a single site without a name, and in one that was not copied yet. */
export async function readActiveSite(db: Executor): Promise<ActiveSite | undefined> {
  const [row] = await db.rows<ActiveRow>(ACTIVE, {})
  if (row === undefined) return undefined
  const { name, generation, succeeded_by: by, succeeded_url: url } = row
  const successor =
    by === null || url === null || row.succeeded_generation === null
      ? undefined
      : { name: by, url, generation: row.succeeded_generation }
  return { name, generation, successor }
}

/** By name. */
export async function listSites(db: Executor): Promise<readonly Site[]> {
  const rows = await db.orm.select().from(sites).orderBy(asc(sites.name))
  return rows.map(({ name, url, databases }) => ({ name, url, databases }))
}

/** Afterwards the site is known, at these addresses. */
export async function keepSite(db: Executor, { name, url, databases }: Site): Promise<void> {
  await db.orm
    .insert(sites)
    .values({ name, url, databases, createdAt: sql`now(3)` })
    .onDuplicateKeyUpdate({ set: { url, databases } })
}

/** Afterwards a site is active: this one, where none was. */
export async function beginSites(db: Executor, name: string, generation: number): Promise<void> {
  await db.orm
    .insert(activeSite)
    .values({ id: ROW_ID, name, generation, promotedAt: sql`now(3)` })
    .onDuplicateKeyUpdate({ set: { id: ROW_ID } })
}

/** Afterwards this site is the active one, in a new generation, which is returned. */
export async function activateSite(
  tx: Tx,
  { name, statement: said }: { readonly name: string; readonly statement: string | undefined },
): Promise<number> {
  const values = {
    name,
    statement: said ?? null,
    promotedAt: sql`now(3)`,
    succeededBy: null,
    succeededUrl: null,
    succeededGeneration: null,
  }
  // The columns are assigned in the order of the table, in which the generation comes before the one of a successor.
  const next = sql`greatest(generation, coalesce(succeeded_generation, 0)) + 1`
  await tx.orm
    .insert(activeSite)
    .values({ id: ROW_ID, generation: FIRST_OF_ALL + 1, ...values })
    .onDuplicateKeyUpdate({ set: { generation: next, ...values } })
  const active = await readActiveSite(tx)
  return active?.generation ?? FIRST_OF_ALL
}

/** Afterwards the gateways of this database serve no more: another site was promoted. */
export async function recordSuccessor(
  db: Executor,
  { name, url, generation }: Successor,
): Promise<void> {
  await db.orm
    .update(activeSite)
    .set({ succeededBy: name, succeededUrl: url, succeededGeneration: generation })
    .where(lt(activeSite.generation, generation))
}
