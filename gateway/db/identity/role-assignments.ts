import { and, asc, eq, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { RoleAssignment } from '../../app/identity/model.ts'
import type { Scope } from '../../app/identity/token-view.ts'
import { roleAssignments } from '../schema/identity.ts'

const ASSIGNED = statement(
  builder
    .select({ id: roleAssignments.roleId })
    .from(roleAssignments)
    .where(
      and(
        eq(roleAssignments.userId, sql.placeholder('userId')),
        eq(roleAssignments.targetType, sql.placeholder('type')),
        eq(roleAssignments.targetId, sql.placeholder('targetId')),
      ),
    ),
)

/** Ids of the roles the user was given on the target itself, implied ones not included. */
export async function assignedRoleIds(
  db: Executor,
  userId: string,
  scope: Scope,
): Promise<readonly string[]> {
  const values = { userId, type: scope.type, targetId: scope.id }
  const rows = await db.rows<{ role_id: string }>(ASSIGNED, values)
  return rows.map((row) => row.role_id)
}

/** Ids of the targets of one type on which the user has any role. */
export async function assignedTargets(
  db: Executor,
  userId: string,
  type: RoleAssignment['targetType'],
  limit: number,
): Promise<readonly string[]> {
  const rows = await db.orm
    .selectDistinct({ id: roleAssignments.targetId })
    .from(roleAssignments)
    .where(and(eq(roleAssignments.userId, userId), eq(roleAssignments.targetType, type)))
    .orderBy(asc(roleAssignments.targetId))
    .limit(limit)
  return rows.map(({ id }) => id)
}

/** Assignments that agree with everything given. */
export async function listRoleAssignments(
  db: Executor,
  filter: Partial<RoleAssignment>,
  limit: number,
): Promise<readonly RoleAssignment[]> {
  const { userId, targetType, targetId, roleId } = filter
  const rows = await db.orm
    .select()
    .from(roleAssignments)
    .where(
      and(
        userId === undefined ? undefined : eq(roleAssignments.userId, userId),
        targetType === undefined ? undefined : eq(roleAssignments.targetType, targetType),
        targetId === undefined ? undefined : eq(roleAssignments.targetId, targetId),
        roleId === undefined ? undefined : eq(roleAssignments.roleId, roleId),
      ),
    )
    .limit(limit)
  return rows.map((row) => ({
    ...row,
    targetType: row.targetType as RoleAssignment['targetType'],
  }))
}

/** Afterwards the user has the role on the target. */
export async function ensureRoleAssignment(
  db: Executor,
  assignment: RoleAssignment,
): Promise<void> {
  await db.orm.insert(roleAssignments).ignore().values(assignment)
}
