import { and, asc, eq, exists, or, type SQL, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { RoleAssignment } from '../../app/identity/model.ts'
import type { Scope } from '../../app/identity/token-view.ts'
import { roleAssignments as given, groupMembers, projects } from '../schema/identity.ts'
import type { ProjectReach } from './projects.ts'

const USER = sql.placeholder('userId')

/** Assignments of the user, or of a group that the user is in. */
const isTheirs = or(
  and(eq(given.actorType, 'user'), eq(given.actorId, USER)),
  and(
    eq(given.actorType, 'group'),
    exists(
      builder
        .select()
        .from(groupMembers)
        .where(and(eq(groupMembers.groupId, given.actorId), eq(groupMembers.userId, USER))),
    ),
  ),
)

const isOnTarget = and(
  eq(given.targetType, sql.placeholder('type')),
  eq(given.targetId, sql.placeholder('targetId')),
  eq(given.inherited, false),
)
const isFromAbove = and(
  eq(given.inherited, true),
  or(
    and(eq(given.targetType, 'domain'), eq(given.targetId, projects.domainId)),
    and(
      eq(given.targetType, 'project'),
      sql`FIND_IN_SET(${given.targetId}, ${projects.ancestors}) > 0`,
    ),
  ),
)

const ON_TARGET = statement(
  builder.selectDistinct({ id: given.roleId }).from(given).where(and(isTheirs, isOnTarget)),
)
const FROM_ABOVE = statement(
  builder
    .selectDistinct({ id: given.roleId })
    .from(given)
    .innerJoin(projects, eq(projects.id, sql.placeholder('targetId')))
    .where(and(isTheirs, isFromAbove)),
)

/** The ids of the user's roles in a scope, from all assignments but not by implication. */
export async function assignedRoleIds(
  db: Executor,
  userId: string,
  scope: Scope,
): Promise<readonly string[]> {
  const values = { userId, type: scope.type, targetId: scope.id }
  const [direct, inherited] = await Promise.all([
    db.rows<{ role_id: string }>(ON_TARGET, values),
    scope.type === 'project' ? db.rows<{ role_id: string }>(FROM_ABOVE, values) : [],
  ])
  return [...direct, ...inherited].map((row) => row.role_id)
}

const TARGETS = statement(
  builder
    .selectDistinct({ type: given.targetType, id: given.targetId, inherited: given.inherited })
    .from(given)
    .where(isTheirs as SQL)
    .orderBy(asc(given.targetId))
    .limit(sql.placeholder('limit')),
)

interface TargetRow {
  readonly target_type: RoleAssignment['targetType']
  readonly target_id: string
  readonly inherited: number
}

export interface AssignedTargets {
  readonly projects: ProjectReach
  readonly domainIds: readonly string[]
  readonly system: boolean
}

/** Everything on which the user has a role. */
export async function assignedTargets(
  db: Executor,
  userId: string,
  limit: number,
): Promise<AssignedTargets> {
  const rows = await db.rows<TargetRow>(TARGETS, { userId, limit })
  const idsOf = (type: RoleAssignment['targetType'], inherited: 0 | 1) =>
    rows
      .filter((row) => row.target_type === type && row.inherited === inherited)
      .map((row) => row.target_id)
  return {
    projects: {
      ids: idsOf('project', 0),
      domainIds: idsOf('domain', 1),
      ancestorIds: idsOf('project', 1),
    },
    domainIds: idsOf('domain', 0),
    system: idsOf('system', 0).length > 0,
  }
}
