import { and, asc, eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { Domain, ListFilter } from '../../app/identity/model.ts'
import { domains } from '../schema/identity.ts'
import { listConditions } from './list-conditions.ts'
import { orNameTaken } from './name-taken.ts'

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
  readonly immutable: number
}

export async function findDomain(db: Executor, id: string): Promise<Domain | undefined> {
  const [row] = await db.rows<Row>(FIND, { id })
  if (row === undefined) return undefined
  return { ...row, enabled: row.enabled === 1, immutable: row.immutable === 1 }
}

export async function findDomainByName(db: Executor, name: string): Promise<Domain | undefined> {
  const [row] = await db.orm.select().from(domains).where(eq(domains.name, name))
  return row
}

/** The domain, locked until the transaction ends. */
export async function lockDomain(tx: Tx, id: string): Promise<Domain | undefined> {
  await lockRows(tx, domains, eq(domains.id, id))
  return findDomain(tx, id)
}

/** Domains that fit every given filter, in the order of their ids. */
export async function listDomains(
  db: Executor,
  filter: ListFilter,
  limit: number,
): Promise<readonly Domain[]> {
  if (filter.ids?.length === 0) return []
  return db.orm
    .select()
    .from(domains)
    .where(and(...listConditions(domains, filter)))
    .orderBy(asc(domains.id))
    .limit(limit)
}

/** Throws `conflict` for a name that is taken. */
export async function insertDomain(db: Executor, domain: Domain): Promise<void> {
  const insert = db.orm.insert(domains).values(domain)
  await orNameTaken('domains_name', 'domain', domain.name, insert)
}

/** Throws `conflict` for a name that is taken. */
export async function updateDomain(tx: Tx, domain: Domain): Promise<void> {
  const { id, ...values } = domain
  const update = tx.orm.update(domains).set(values).where(eq(domains.id, id))
  await orNameTaken('domains_name', 'domain', domain.name, update)
}

/** Afterwards the domain exists; one that exists is left as it is. */
export async function ensureDomain(db: Executor, domain: Omit<Domain, 'immutable'>): Promise<void> {
  await db.orm
    .insert(domains)
    .ignore()
    .values({ ...domain, immutable: false })
}
