import { asc, eq, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { Domain } from '../../app/identity/model.ts'
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

/** Every domain, in the order of their ids. */
export async function listDomains(db: Executor, limit: number): Promise<readonly Domain[]> {
  return db.orm.select().from(domains).orderBy(asc(domains.id)).limit(limit)
}

/** Afterwards the domain exists; one that exists is left as it is. */
export async function ensureDomain(db: Executor, domain: Domain): Promise<void> {
  await db.orm.insert(domains).ignore().values(domain)
}
