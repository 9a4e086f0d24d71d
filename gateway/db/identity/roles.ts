import { asc, eq } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { RoleModel } from '../../app/identity/effective-roles.ts'
import type { Role } from '../../app/identity/model.ts'
import type { RoleRef } from '../../app/identity/token-view.ts'
import { impliedRoles, roles } from '../schema/identity.ts'

const ROLES = statement(
  builder.select({ id: roles.id, name: roles.name }).from(roles).orderBy(asc(roles.name)),
)
const IMPLIED = statement(builder.select().from(impliedRoles))

/** Every role and implication; there are few of them. */
export async function roleModel(db: Executor): Promise<RoleModel> {
  const [all, implied] = await Promise.all([
    db.rows<RoleRef>(ROLES, {}),
    db.rows<{ prior_role_id: string; implied_role_id: string }>(IMPLIED, {}),
  ])
  return {
    roles: all,
    implied: implied.map((row) => ({
      priorId: row.prior_role_id,
      impliedId: row.implied_role_id,
    })),
  }
}

export async function findRole(db: Executor, id: string): Promise<Role | undefined> {
  const [row] = await db.orm.select().from(roles).where(eq(roles.id, id))
  return row
}

/** Roles, all or the one of this name, in the order of their names. */
export async function listRoles(
  db: Executor,
  name: string | undefined,
  limit: number,
): Promise<readonly Role[]> {
  const where = name === undefined ? undefined : eq(roles.name, name)
  return db.orm.select().from(roles).where(where).orderBy(asc(roles.name)).limit(limit)
}

/** Afterwards there is a role of this name; one that exists is left as it is. */
export async function ensureRole(db: Executor, role: Role): Promise<void> {
  await db.orm.insert(roles).ignore().values(role)
}

export async function ensureImplication(
  db: Executor,
  priorRoleId: string,
  impliedRoleId: string,
): Promise<void> {
  await db.orm.insert(impliedRoles).ignore().values({ priorRoleId, impliedRoleId })
}
