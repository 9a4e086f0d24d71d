import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { groupsOf } from '../../db/identity/group-members.ts'
import { listProjects } from '../../db/identity/projects.ts'
import { listRoleAssignments } from '../../db/identity/role-assignments.ts'
import { roleModel } from '../../db/identity/roles.ts'
import type { Caller } from '../request-context.ts'
import { effectiveRoles, type RoleModel } from './effective-assignments.ts'
import { READ_MAX } from './listed.ts'
import type { RoleAssignment } from './model.ts'

/** Managers of a domain give these roles, and roles of the domain: not `admin`, which reaches beyond it. */
const MANAGED_ROLES: ReadonlySet<string> = new Set(['manager', 'member', 'reader'])

/** True where all that the role brings is what managers of domains give, or is brought by that. */
export function isManagedRole(model: RoleModel, roleId: string): boolean {
  const managed = model.roles.filter(
    ({ name, domainId }) => domainId === '' && MANAGED_ROLES.has(name),
  )
  const within = new Set(
    effectiveRoles(
      model,
      managed.map(({ id }) => id),
    ),
  )
  return effectiveRoles(model, [roleId]).every((role) => within.has(role))
}

/** The object to be changed: a change of a user, group or project also touches every role assigned to it. */
export interface Managed {
  readonly what: 'user' | 'group' | 'project'
  readonly id: string
}

/**
 * Throws `forbidden` with a token for a domain where the change would reach roles above those that managers of the domain
 * give: a password of an administrator of the cloud, a group that has the role, the project in which it is had. Roles
 * on the system, and the management of another domain, are above, too.
 */
export async function refuseAboveManager(
  db: Executor,
  caller: Caller,
  { what, id }: Managed,
  rule: string,
): Promise<void> {
  const { domainId } = caller
  if (domainId === null) return
  const given = await assignmentsOf(db, { what, id })
  if (given.length === 0) return
  const model = await roleModel(db)
  const projectIds = given.filter((it) => it.targetType === 'project').map((it) => it.targetId)
  const own = await listProjects(db, { ids: projectIds, domainId }, READ_MAX)
  const within = new Set([domainId, ...own.map((project) => project.id)])
  const above = given.find((it) => !isWithin(model, it, within, caller))
  if (above === undefined) return
  const role = model.roles.find((each) => each.id === above.roleId)
  throw new Failure(
    'forbidden',
    `${rule}: the ${what} ${id} brings the role ${role?.name ?? above.roleId} on the ${targetText(above)}, which managers of a domain do not give: ask an administrator of the cloud.`,
  )
}

function targetText({ targetType, targetId }: RoleAssignment): string {
  return targetType === 'system' ? 'system' : `${targetType} ${targetId}`
}

function isWithin(
  model: RoleModel,
  { roleId, targetType, targetId, inherited }: RoleAssignment,
  within: ReadonlySet<string>,
  { roles }: Caller,
): boolean {
  if (targetType === 'system') return false
  const names = effectiveRoles(model, [roleId]).map(({ name }) => name)
  if (!within.has(targetId)) return isManagedRole(model, roleId) && !names.includes('manager')
  // Who has `admin` in the domain manages others who have it there; in projects it is the cloud's.
  const isOwn = targetType === 'domain' && !inherited && names.every((name) => roles.has(name))
  return isOwn || isManagedRole(model, roleId)
}

async function assignmentsOf(
  db: Executor,
  { what, id }: Managed,
): Promise<readonly RoleAssignment[]> {
  if (what === 'project')
    return listRoleAssignments(db, { targetType: what, targetIds: [id] }, READ_MAX)
  const direct = await listRoleAssignments(db, { actorType: what, actorId: id }, READ_MAX)
  const groupIds = what === 'user' ? await groupsOf(db, id, READ_MAX) : []
  const byGroups = await Promise.all(
    groupIds.map((actorId) => listRoleAssignments(db, { actorType: 'group', actorId }, READ_MAX)),
  )
  return [...direct, ...byGroups.flat()]
}
