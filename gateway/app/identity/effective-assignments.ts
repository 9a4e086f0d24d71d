import type { Executor } from '#common/db/database.ts'
import { membersOf } from '../../db/identity/group-members.ts'
import { listProjects } from '../../db/identity/projects.ts'
import { effectiveRoles, type RoleModel } from './effective-roles.ts'
import { READ_MAX } from './listed.ts'
import type { Project, RoleAssignment } from './model.ts'

/** An assignment that follows from one that was given; `groupId` is of the group by which. */
export interface EffectiveAssignment extends RoleAssignment {
  readonly groupId?: string | undefined
}

/** What follows from assignments: members instead of groups, projects below instead of inherited roles, implied roles. */
export async function effectiveAssignments(
  db: Executor,
  model: RoleModel,
  given: readonly RoleAssignment[],
): Promise<readonly EffectiveAssignment[]> {
  const groupIds = given.filter(({ actorType }) => actorType === 'group').map((it) => it.actorId)
  const members = await membersOf(db, [...new Set(groupIds)], READ_MAX)
  const below = await projectsBelow(db, given)

  const byUser = given.flatMap((it): EffectiveAssignment[] =>
    it.actorType === 'user'
      ? [it]
      : members
          .filter(({ groupId }) => groupId === it.actorId)
          .map(({ userId, groupId }) => ({ ...it, actorType: 'user', actorId: userId, groupId })),
  )
  const onTarget = byUser.flatMap((it) => (it.inherited ? inherited(it, below) : [it]))
  const implied = onTarget.flatMap((it) =>
    effectiveRoles(model, [it.roleId]).map(({ id }) => ({ ...it, roleId: id })),
  )
  return distinct(implied)
}

async function projectsBelow(
  db: Executor,
  given: readonly RoleAssignment[],
): Promise<readonly Project[]> {
  const idsOf = (type: RoleAssignment['targetType']) =>
    given.filter((it) => it.inherited && it.targetType === type).map(({ targetId }) => targetId)
  const reach = { ids: [], domainIds: idsOf('domain'), ancestorIds: [...new Set(idsOf('project'))] }
  return listProjects(db, { reach }, READ_MAX)
}

function inherited(
  it: EffectiveAssignment,
  below: readonly Project[],
): readonly EffectiveAssignment[] {
  const isBelow = (project: Project) =>
    it.targetType === 'domain'
      ? project.domain.id === it.targetId
      : project.ancestors.includes(it.targetId)
  return below
    .filter(isBelow)
    .map(({ id }) => ({ ...it, targetType: 'project', targetId: id, inherited: false }))
}

function distinct(all: readonly EffectiveAssignment[]): readonly EffectiveAssignment[] {
  const byContent = new Map(
    all.map((it) => [[it.actorId, it.targetType, it.targetId, it.roleId].join(' '), it]),
  )
  return [...byContent.values()]
}
