import type { Executor } from '#common/db/database.ts'
import { listDomains } from '../../db/identity/domains.ts'
import { listGroups } from '../../db/identity/groups.ts'
import { listProjects } from '../../db/identity/projects.ts'
import { roleModel } from '../../db/identity/roles.ts'
import { listUsers } from '../../db/identity/users.ts'
import type { EffectiveAssignment } from './effective-assignments.ts'
import { READ_MAX } from './listed.ts'
import type { RoleAssignment } from './model.ts'
import type { DomainRef, NamedRef, RoleRef } from './token-view.ts'

/** An assignment; names are there only where they were asked for. */
export interface AssignmentView extends EffectiveAssignment {
  readonly role?: RoleRef | undefined
  readonly user?: NamedRef | undefined
  readonly group?: NamedRef | undefined
  readonly project?: NamedRef | undefined
  readonly domain?: DomainRef | undefined
}

/** The assignments with the names of everything in them, if `wanted`. */
export async function assignmentNames(
  db: Executor,
  found: readonly EffectiveAssignment[],
  wanted: boolean,
): Promise<readonly AssignmentView[]> {
  if (!wanted) return found
  const actors = (type: RoleAssignment['actorType']) =>
    distinctIds(found.filter(({ actorType }) => actorType === type).map(({ actorId }) => actorId))
  const targets = (type: RoleAssignment['targetType']) =>
    distinctIds(found.filter(({ targetType }) => targetType === type).map((it) => it.targetId))
  const [{ roles }, users, groups, projects, domains] = await Promise.all([
    roleModel(db),
    listUsers(db, { ids: actors('user') }, READ_MAX),
    listGroups(db, { ids: actors('group') }, READ_MAX),
    listProjects(db, { ids: targets('project') }, READ_MAX),
    listDomains(db, { ids: targets('domain') }, READ_MAX),
  ])
  const byId = <T extends { readonly id: string }>(all: readonly T[]) =>
    new Map(all.map((it) => [it.id, it]))
  const [role, user, group] = [byId(roles), byId(users), byId(groups)]
  const [project, domain] = [byId(projects), byId(domains)]
  return found.map((it) => ({
    ...it,
    role: role.get(it.roleId),
    user: user.get(it.actorId),
    group: group.get(it.actorId),
    project: project.get(it.targetId),
    domain: domain.get(it.targetId),
  }))
}

function distinctIds(ids: readonly string[]): readonly string[] {
  return [...new Set(ids)]
}
