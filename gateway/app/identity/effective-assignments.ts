import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { membersOf } from '../../db/identity/group-members.ts'
import { listProjects } from '../../db/identity/projects.ts'
import type { Caller } from '../request-context.ts'
import { READ_MAX } from './listed.ts'
import type { Project, Role, RoleAssignment } from './model.ts'
import type { RoleRef } from './token-view.ts'

/** An assignment that follows from a granted one; `groupId` is the group through which the user has it. */
export interface EffectiveAssignment extends RoleAssignment {
  readonly groupId?: string | undefined
}

/** The consequences of assignments: members instead of groups, projects below instead of inherited roles, implied roles. */
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

/** Every role there is, and which implies which. */
export interface RoleModel {
  readonly roles: readonly Role[]
  readonly implied: readonly { readonly priorId: string; readonly impliedId: string }[]
}

/**
 * The roles of these ids and all they imply, each once, in the order of the model. Unknown ids give nothing. A role of
 * a domain counts only by what it implies: its name is its domain's own, and might be that of any role of the cloud.
 */
export function effectiveRoles(model: RoleModel, assignedIds: Iterable<string>): readonly Role[] {
  const reached = reachedRoles(model, assignedIds)
  return model.roles.filter(({ id, domainId }) => reached.has(id) && domainId === '')
}

/** The ids given and those of all they imply, of domains, too. */
export function reachedRoles(
  model: Pick<RoleModel, 'implied'>,
  assignedIds: Iterable<string>,
): ReadonlySet<string> {
  const reached = new Set(assignedIds)
  // A set grows while it is walked: added entries are visited, too, and none twice, so cycles end.
  for (const id of reached)
    for (const { priorId, impliedId } of model.implied) if (priorId === id) reached.add(impliedId)
  return reached
}

/** A role by id or by name. */
export interface RoleChoice {
  readonly id?: string
  readonly name?: string
}

/** The roles chosen, all of the caller's when none are; throws `invalid` for one the caller does not have. */
export function grantedRoles(
  model: RoleModel,
  caller: Caller,
  chosen: readonly RoleChoice[] | undefined,
): readonly RoleRef[] {
  const owned = model.roles.filter(({ name }) => caller.roles.has(name))
  if (chosen === undefined || chosen.length === 0) return owned
  const roles = chosen.map(({ id, name }) => {
    const role = owned.find((it) => it.id === id || it.name === name)
    if (role === undefined)
      throw new Failure('invalid', `The token does not have the role ${id ?? name}.`)
    return role
  })
  return [...new Set(roles)]
}
