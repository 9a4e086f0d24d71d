import { and, eq, inArray, type SQL } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { RoleAssignment } from '../../app/identity/model.ts'
import { roleAssignments as table } from '../schema/identity.ts'

/** What assignments must agree with, in everything given. */
export interface AssignmentMatch extends Partial<Omit<RoleAssignment, 'targetId'>> {
  readonly targetIds?: readonly string[]
}

/** Assignments as they were given. */
export async function listRoleAssignments(
  db: Executor,
  { targetIds, ...match }: AssignmentMatch,
  limit: number,
): Promise<readonly RoleAssignment[]> {
  if (targetIds?.length === 0) return []
  const isTarget = targetIds === undefined ? undefined : inArray(table.targetId, [...targetIds])
  const rows = await db.orm
    .select()
    .from(table)
    .where(and(matches(match), isTarget))
    .limit(limit)
  return rows.map((row) => ({
    ...row,
    actorType: row.actorType as RoleAssignment['actorType'],
    targetType: row.targetType as RoleAssignment['targetType'],
  }))
}

/** Afterwards the actor has the role on the target. */
export async function ensureRoleAssignment(
  db: Executor,
  assignment: RoleAssignment,
): Promise<void> {
  await db.orm.insert(table).ignore().values(assignment)
}

/** Afterwards nothing that agrees with everything given is assigned; false when that was so before. */
export async function deleteRoleAssignments(
  tx: Tx,
  match: Partial<RoleAssignment>,
): Promise<boolean> {
  const [result] = await tx.orm.delete(table).where(matches(match))
  return result.affectedRows > 0
}

function matches(match: Partial<RoleAssignment>): SQL | undefined {
  const { actorType, actorId, targetType, targetId, roleId, inherited } = match
  return and(
    actorType === undefined ? undefined : eq(table.actorType, actorType),
    actorId === undefined ? undefined : eq(table.actorId, actorId),
    targetType === undefined ? undefined : eq(table.targetType, targetType),
    targetId === undefined ? undefined : eq(table.targetId, targetId),
    roleId === undefined ? undefined : eq(table.roleId, roleId),
    inherited === undefined ? undefined : eq(table.inherited, inherited),
  )
}
