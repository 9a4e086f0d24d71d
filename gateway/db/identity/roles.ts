import { and, asc, eq } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { RoleModel } from '../../app/identity/effective-assignments.ts'
import type { Extra, ListFilter, Role } from '../../app/identity/model.ts'
import { impliedRoles, roles } from '../schema/identity.ts'
import { listConditions } from './list-conditions.ts'
import { orNameTaken } from './name-taken.ts'

const ROLES = statement(builder.select().from(roles).orderBy(asc(roles.name)))
const IMPLIED = statement(builder.select().from(impliedRoles))

interface Row {
  readonly id: string
  readonly domain_id: string
  readonly name: string
  readonly description: string
  readonly immutable: number
  readonly extra: unknown
}

/** Every role and implication; there are few of them. */
export async function roleModel(db: Executor): Promise<RoleModel> {
  const [all, implied] = await Promise.all([
    db.rows<Row>(ROLES, {}),
    db.rows<{ prior_role_id: string; implied_role_id: string }>(IMPLIED, {}),
  ])
  return {
    roles: all.map(({ domain_id, immutable, extra, ...role }) => ({
      ...role,
      domainId: domain_id,
      immutable: immutable === 1,
      extra: extra as Extra,
    })),
    implied: implied.map((row) => ({
      priorId: row.prior_role_id,
      impliedId: row.implied_role_id,
    })),
  }
}

export async function findRole(db: Executor, id: string): Promise<Role | undefined> {
  const [row] = await db.orm.select().from(roles).where(eq(roles.id, id))
  return row && roleOf(row)
}

/** The role, locked until the transaction ends. */
export async function lockRole(tx: Tx, id: string): Promise<Role | undefined> {
  await lockRows(tx, roles, eq(roles.id, id))
  return findRole(tx, id)
}

/** Roles that fit every given filter, in the order of their ids. */
export async function listRoles(
  db: Executor,
  filter: ListFilter,
  limit: number,
): Promise<readonly Role[]> {
  if (filter.ids?.length === 0) return []
  const rows = await db.orm
    .select()
    .from(roles)
    .where(and(...listConditions(roles, filter)))
    .orderBy(asc(roles.id))
    .limit(limit)
  return rows.map(roleOf)
}

function roleOf(row: typeof roles.$inferSelect): Role {
  return { ...row, extra: row.extra as Extra }
}

/** Throws `conflict` for a name that is taken. */
export async function insertRole(db: Executor, role: Role): Promise<void> {
  const insert = db.orm.insert(roles).values(role)
  await orNameTaken('roles_name', 'role', role.name, insert)
}

/** Throws `conflict` for a name that is taken. */
export async function updateRole(
  tx: Tx,
  { id, name, description, immutable, extra }: Role,
): Promise<void> {
  const change = { name, description, immutable, extra }
  const update = tx.orm.update(roles).set(change).where(eq(roles.id, id))
  await orNameTaken('roles_name', 'role', name, update)
}

/** Afterwards there is a role of this name for the whole cloud; one that exists is left as it is. */
export async function ensureRole(
  db: Executor,
  role: Omit<Role, 'domainId' | 'immutable' | 'extra'>,
): Promise<void> {
  await db.orm
    .insert(roles)
    .ignore()
    .values({ ...role, domainId: '', immutable: true, extra: {} })
}

/** Afterwards the first role implies the second; no error if it did before. */
export async function ensureImplication(
  db: Executor,
  priorRoleId: string,
  impliedRoleId: string,
): Promise<void> {
  await db.orm.insert(impliedRoles).ignore().values({ priorRoleId, impliedRoleId })
}

/** Afterwards the one does not imply the other; false when that was so before. */
export async function deleteImplication(
  tx: Tx,
  priorRoleId: string,
  impliedRoleId: string,
): Promise<boolean> {
  const isThis = and(
    eq(impliedRoles.priorRoleId, priorRoleId),
    eq(impliedRoles.impliedRoleId, impliedRoleId),
  )
  const [result] = await tx.orm.delete(impliedRoles).where(isThis)
  return result.affectedRows > 0
}
