import { and, asc, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { NameFilter, User } from '../../app/identity/model.ts'
import { domains, users } from '../schema/identity.ts'

const COLUMNS = {
  id: users.id,
  name: users.name,
  defaultProjectId: users.defaultProjectId,
  email: users.email,
  description: users.description,
  enabled: sql<number>`${users.enabled} AND ${domains.enabled}`.as('is_enabled'),
  domainId: sql<string>`${domains.id}`.as('domain_id'),
  domainName: sql<string>`${domains.name}`.as('domain_name'),
}

const find = (columns: typeof COLUMNS & { passwordHash?: typeof users.passwordHash }, where: SQL) =>
  statement(
    builder
      .select(columns)
      .from(users)
      .innerJoin(domains, eq(domains.id, users.domainId))
      .where(where),
  )
const WITH_HASH = { ...COLUMNS, passwordHash: users.passwordHash }
const FIND = find(COLUMNS, sql`${users.id} = ${sql.placeholder('id')}`)
const LOGIN_BY_ID = find(WITH_HASH, sql`${users.id} = ${sql.placeholder('id')}`)
const LOGIN_BY_NAME = find(
  WITH_HASH,
  sql`${users.name} = ${sql.placeholder('name')} AND (${domains.id} = ${sql.placeholder('domainId')} OR ${domains.name} = ${sql.placeholder('domainName')})`,
)

interface Row {
  readonly id: string
  readonly name: string
  readonly default_project_id: string | null
  readonly email: string | null
  readonly description: string
  readonly is_enabled: number
  readonly domain_id: string
  readonly domain_name: string
  readonly password_hash: string
}

function userOf(row: Row): User {
  return {
    id: row.id,
    name: row.name,
    defaultProjectId: row.default_project_id,
    email: row.email,
    description: row.description,
    enabled: row.is_enabled === 1,
    domain: { id: row.domain_id, name: row.domain_name },
  }
}

/** A user of a disabled domain is disabled. */
export async function findUser(db: Executor, id: string): Promise<User | undefined> {
  const [row] = await db.rows<Row>(FIND, { id })
  return row === undefined ? undefined : userOf(row)
}

/** Who is meant by a login: an id, or a name in a domain that is itself given by id or by name. */
export type UserReference =
  | { readonly id: string }
  | { readonly name: string; readonly domain: { readonly id?: string; readonly name?: string } }

export interface Login {
  readonly user: User
  readonly passwordHash: string
}

/** The user and what its password must hash to. */
export async function findLogin(db: Executor, who: UserReference): Promise<Login | undefined> {
  const rows =
    'id' in who
      ? await db.rows<Row>(LOGIN_BY_ID, { id: who.id })
      : await db.rows<Row>(LOGIN_BY_NAME, {
          name: who.name,
          domainId: who.domain.id ?? null,
          domainName: who.domain.name ?? null,
        })
  const [row] = rows
  return row === undefined ? undefined : { user: userOf(row), passwordHash: row.password_hash }
}

export interface UserFilter extends NameFilter {
  readonly ids?: readonly string[]
}

/** Users that fit every given filter, in the order of their ids. */
export async function listUsers(
  db: Executor,
  filter: UserFilter,
  limit: number,
): Promise<readonly User[]> {
  if (filter.ids?.length === 0) return []
  const rows = await db.orm
    .select(COLUMNS)
    .from(users)
    .innerJoin(domains, eq(domains.id, users.domainId))
    .where(
      and(
        filter.name === undefined ? undefined : eq(users.name, filter.name),
        filter.domainId === undefined ? undefined : eq(users.domainId, filter.domainId),
        filter.enabled === undefined ? undefined : eq(users.enabled, filter.enabled),
        filter.ids === undefined ? undefined : inArray(users.id, [...filter.ids]),
      ),
    )
    .orderBy(asc(users.id))
    .limit(limit)
  return rows.map(({ domainId, domainName, enabled, ...row }) => ({
    ...row,
    enabled: Number(enabled) === 1,
    domain: { id: domainId, name: domainName },
  }))
}

export interface NewUser {
  readonly id: string
  readonly domainId: string
  readonly name: string
  readonly passwordHash: string
  readonly defaultProjectId: string | null
}

/** Afterwards the domain has a user of this name; one that exists is left as it is, password included. */
export async function ensureUser(db: Executor, user: NewUser): Promise<void> {
  await db.orm
    .insert(users)
    .ignore()
    .values({ ...user, description: '', enabled: true, createdAt: new Date() })
}
