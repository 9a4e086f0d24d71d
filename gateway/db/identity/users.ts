import { and, asc, eq, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { Extra, ListFilter, User, UserOptions } from '../../app/identity/model.ts'
import { domains, users } from '../schema/identity.ts'
import { listConditions } from './list-conditions.ts'
import { orNameTaken } from './name-taken.ts'

const COLUMNS = {
  id: users.id,
  name: users.name,
  defaultProjectId: users.defaultProjectId,
  email: users.email,
  description: users.description,
  enabled: users.enabled,
  options: users.options,
  extra: users.extra,
  isActive: sql<number>`${users.enabled} AND ${domains.enabled}`.as('is_active'),
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
  readonly enabled: number
  readonly options: unknown
  readonly extra: unknown
  readonly is_active: number
  readonly domain_id: string
  readonly domain_name: string
  readonly password_hash: string | null
}

function userOf(row: Row): User {
  return {
    id: row.id,
    name: row.name,
    defaultProjectId: row.default_project_id,
    email: row.email,
    description: row.description,
    enabled: row.enabled === 1,
    options: row.options as UserOptions,
    extra: row.extra as Extra,
    isActive: row.is_active === 1,
    domain: { id: row.domain_id, name: row.domain_name },
  }
}

export async function findUser(db: Executor, id: string): Promise<User | undefined> {
  const [row] = await db.rows<Row>(FIND, { id })
  return row === undefined ? undefined : userOf(row)
}

/** The user of a login: an id, or a name in a domain that is itself given by id or name. */
export type UserReference =
  | { readonly id: string }
  | { readonly name: string; readonly domain: { readonly id?: string; readonly name?: string } }

export interface Login {
  readonly user: User
  /** Null when no password opens the account. */
  readonly passwordHash: string | null
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

/** The user, locked until the transaction ends. */
export async function lockUser(tx: Tx, id: string): Promise<User | undefined> {
  await lockRows(tx, users, eq(users.id, id))
  return findUser(tx, id)
}

/** Users that fit every given filter, in the order of their ids. */
export async function listUsers(
  db: Executor,
  filter: ListFilter,
  limit: number,
): Promise<readonly User[]> {
  if (filter.ids?.length === 0) return []
  const rows = await db.orm
    .select(COLUMNS)
    .from(users)
    .innerJoin(domains, eq(domains.id, users.domainId))
    .where(and(...listConditions(users, filter)))
    .orderBy(asc(users.id))
    .limit(limit)
  return rows.map(({ domainId, domainName, ...row }) => ({
    ...row,
    options: row.options as UserOptions,
    extra: row.extra as Extra,
    isActive: Number(row.isActive) === 1,
    domain: { id: domainId, name: domainName },
  }))
}

/** Throws `conflict` for a name the domain has. */
export async function insertUser(
  db: Executor,
  user: User,
  passwordHash: string | null,
  at: Date,
): Promise<void> {
  const { domain, isActive: _, ...values } = user
  const insert = db.orm
    .insert(users)
    .values({ ...values, domainId: domain.id, passwordHash, createdAt: at })
  await orNameTaken('users_name', 'user', user.name, insert)
}

/**
 * Changes the variable properties of a user; without a password the password stays. Throws `conflict` for a name that
 * the domain has.
 */
export async function updateUser(
  tx: Tx,
  user: User,
  passwordHash: string | null | undefined,
): Promise<void> {
  const { id, name, defaultProjectId, email, description, enabled, options, extra } = user
  const values = { name, defaultProjectId, email, description, enabled, options, extra }
  const update = tx.orm
    .update(users)
    .set(passwordHash === undefined ? values : { ...values, passwordHash })
    .where(eq(users.id, id))
  await orNameTaken('users_name', 'user', name, update)
}

/** Puts the hash in the place of the one that was verified; false when another came first. */
export async function replacePasswordHash(
  tx: Tx,
  id: string,
  before: string,
  after: string,
): Promise<boolean> {
  const [result] = await tx.orm
    .update(users)
    .set({ passwordHash: after })
    .where(and(eq(users.id, id), eq(users.passwordHash, before)))
  return result.affectedRows > 0
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
    .values({
      ...user,
      description: '',
      enabled: true,
      options: {},
      extra: {},
      createdAt: new Date(),
    })
}
