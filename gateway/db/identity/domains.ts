import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { Domain, NameFilter } from '../../app/identity/model.ts'
import { domains } from '../schema/identity.ts'

const FIND = statement(
  builder
    .select()
    .from(domains)
    .where(eq(domains.id, sql.placeholder('id'))),
)

interface Row {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly enabled: number
}

export async function findDomain(db: Executor, id: string): Promise<Domain | undefined> {
  const [row] = await db.rows<Row>(FIND, { id })
  return row === undefined ? undefined : { ...row, enabled: row.enabled === 1 }
}

export async function findDomainByName(db: Executor, name: string): Promise<Domain | undefined> {
  const [row] = await db.orm.select().from(domains).where(eq(domains.name, name))
  return row
}

export interface DomainFilter extends NameFilter {
  readonly ids?: readonly string[]
}

/** Domains that fit every given filter, in the order of their ids. */
export async function listDomains(
  db: Executor,
  filter: DomainFilter,
  limit: number,
): Promise<readonly Domain[]> {
  if (filter.ids?.length === 0) return []
  return db.orm
    .select()
    .from(domains)
    .where(
      and(
        filter.name === undefined ? undefined : eq(domains.name, filter.name),
        filter.enabled === undefined ? undefined : eq(domains.enabled, filter.enabled),
        filter.ids === undefined ? undefined : inArray(domains.id, [...filter.ids]),
      ),
    )
    .orderBy(asc(domains.id))
    .limit(limit)
}

/** Afterwards the domain exists; one that exists is left as it is. */
export async function ensureDomain(db: Executor, domain: Domain): Promise<void> {
  await db.orm.insert(domains).ignore().values(domain)
}
