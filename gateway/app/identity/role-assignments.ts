import { Failure } from '#common/errors.ts'
import { listProjects } from '../../db/identity/projects.ts'
import { type AssignmentMatch, listRoleAssignments } from '../../db/identity/role-assignments.ts'
import { roleModel } from '../../db/identity/roles.ts'
import type { Caller } from '../request-context.ts'
import { type AssignmentView, assignmentNames } from './assignment-names.ts'
import { type EffectiveAssignment, effectiveAssignments } from './effective-assignments.ts'
import type { Identity } from './identity.ts'
import { type Listed, READ_MAX, unpaged } from './listed.ts'

export interface AssignmentFilter {
  readonly user: string | undefined
  readonly group: string | undefined
  readonly role: string | undefined
  readonly project: string | undefined
  readonly domain: string | undefined
  readonly isSystem: boolean
  /** Only those that hold below their target. */
  readonly isInherited: boolean
  /** True: shows the consequences of assignments instead: members, projects below, implied roles. */
  readonly isEffective: boolean
  /** Those on projects below the one of the filter, too. */
  readonly withSubtree: boolean
  readonly withNames: boolean
}

/** Who has which role on what, as far as every given filter fits; with a token for a domain, in that domain. */
export async function roleAssignments(
  identity: Identity,
  caller: Caller,
  filter: AssignmentFilter,
): Promise<Listed<AssignmentView>> {
  refuseContradictions(filter)
  const { db } = identity
  const targets = await targetsOf(identity, filter)
  const found = filter.isEffective
    ? await effective(identity, filter, targets)
    : await listRoleAssignments(db, { ...directMatch(filter), ...targets }, READ_MAX)
  const named = await assignmentNames(db, found, filter.withNames || caller.domainId !== null)
  const seen = named.filter((it) => caller.domainId === null || domainOf(it) === caller.domainId)
  return unpaged(filter.withNames ? seen : seen.map(withoutNames))
}

/** As Keystone words what could never find anything. */
function refuseContradictions(filter: AssignmentFilter): void {
  const { user, group, project, domain, isSystem, isEffective, isInherited, withSubtree } = filter
  const problem = [
    user !== undefined && group !== undefined && 'Specify a user or group, not both',
    [project !== undefined, domain !== undefined, isSystem].filter(Boolean).length > 1 &&
      'Specify a domain, a project or the system, not several',
    isEffective &&
      group !== undefined &&
      'Combining effective and group filter will always result in an empty list.',
    isEffective &&
      isInherited &&
      domain !== undefined &&
      'Combining effective, domain and inherited filters will always result in an empty list.',
    withSubtree &&
      project === undefined &&
      'scope.project.id must be specified if include_subtree is',
  ].find((text) => text !== false)
  if (problem !== undefined) throw new Failure('invalid', problem)
}

type Targets = Pick<AssignmentMatch, 'targetType' | 'targetIds'>

async function targetsOf({ db }: Identity, filter: AssignmentFilter): Promise<Targets> {
  const { project, domain, isSystem, withSubtree } = filter
  if (project !== undefined) {
    const below = withSubtree ? await listProjects(db, { below: project }, READ_MAX) : []
    return { targetType: 'project', targetIds: [project, ...below.map(({ id }) => id)] }
  }
  if (domain !== undefined) return { targetType: 'domain', targetIds: [domain] }
  return isSystem ? { targetType: 'system' } : {}
}

function directMatch({ user, group, role, isInherited }: AssignmentFilter): AssignmentMatch {
  return {
    ...(user !== undefined && { actorType: 'user', actorId: user }),
    ...(group !== undefined && { actorType: 'group', actorId: group }),
    ...(role !== undefined && { roleId: role }),
    ...(isInherited && { inherited: true }),
  }
}

/** Effective assignments can follow from any assignment, so all are read and then filtered. */
async function effective(
  { db }: Identity,
  { user, role }: AssignmentFilter,
  { targetType, targetIds }: Targets,
): Promise<readonly EffectiveAssignment[]> {
  const stored = await listRoleAssignments(db, {}, READ_MAX)
  const all = await effectiveAssignments(db, await roleModel(db), stored)
  return all.filter(
    (it) =>
      (user === undefined || it.actorId === user) &&
      (role === undefined || it.roleId === role) &&
      (targetType === undefined || it.targetType === targetType) &&
      (targetIds === undefined || targetIds.includes(it.targetId)),
  )
}

function domainOf({ targetType, targetId, project }: AssignmentView): string | undefined {
  return targetType === 'domain' ? targetId : project?.domain.id
}

function withoutNames(view: AssignmentView): AssignmentView {
  return {
    ...view,
    role: undefined,
    user: undefined,
    group: undefined,
    project: undefined,
    domain: undefined,
  }
}
