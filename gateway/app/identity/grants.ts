import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { findDomain } from '../../db/identity/domains.ts'
import { findGroup } from '../../db/identity/groups.ts'
import { findProject } from '../../db/identity/projects.ts'
import {
  deleteRoleAssignments,
  ensureRoleAssignment,
  listRoleAssignments,
} from '../../db/identity/role-assignments.ts'
import { findRole, listRoles, roleModel } from '../../db/identity/roles.ts'
import { findUser } from '../../db/identity/users.ts'
import type { Caller } from '../request-context.ts'
import { changeAccess } from './change-access.ts'
import { enforceInDomain, reached } from './domain-reach.ts'
import type { Identity } from './identity.ts'
import { type Listed, NO_ENTRIES, READ_MAX, unpaged } from './listed.ts'
import { isManagedRole } from './managed-roles.ts'
import { noSuch, type Role, type RoleAssignment } from './model.ts'

/** The users and groups that roles are given to, and the projects and domains that they are given on. */
export type GrantPlace = Omit<RoleAssignment, 'roleId'>

/** The roles given to the actor on the target, as they were given. */
export async function grantedAt(
  { db }: Identity,
  caller: Caller,
  place: GrantPlace,
  rule: string,
): Promise<Listed<Role>> {
  await requirePlace(db, caller, place, rule)
  const found = await listRoleAssignments(db, { ...place, targetIds: [place.targetId] }, READ_MAX)
  if (found.length === 0) return NO_ENTRIES
  const ids = found.map(({ roleId }) => roleId)
  return unpaged(await listRoles(db, { ids }, READ_MAX))
}

/** Throws `not-found` when the role was not given so. */
export async function requireGrant(
  { db }: Identity,
  caller: Caller,
  grant: RoleAssignment,
  rule: string,
): Promise<void> {
  await requireRole(db, grant.roleId)
  await requirePlace(db, caller, grant, rule)
  const { targetId, ...match } = grant
  const found = await listRoleAssignments(db, { ...match, targetIds: [targetId] }, 1)
  if (found.length === 0) throw noSuch('role assignment with role', grant.roleId)
}

/** Afterwards the actor has the role on the target, or below it. */
export async function addGrant(
  identity: Identity,
  caller: Caller,
  grant: RoleAssignment,
  rule: string,
): Promise<void> {
  await changeAccess(identity, async (tx) => {
    const { role, targetDomain } = await managedGrant(tx, caller, grant, rule)
    // On a domain Keystone lets the roles of others be (keystone/assignment/core.py, `create_grant`).
    const isForeign = role.domainId !== '' && role.domainId !== targetDomain
    if (isForeign && grant.targetType === 'project')
      throw new Failure(
        'forbidden',
        `The project must be in the same domain as the role ${role.id} being assigned.`,
      )
    await ensureRoleAssignment(tx, grant)
  })
}

/** Afterwards the role is not given so; throws `not-found` when that was so before. */
export async function removeGrant(
  identity: Identity,
  caller: Caller,
  grant: RoleAssignment,
  rule: string,
): Promise<void> {
  await changeAccess(identity, async (tx) => {
    await managedGrant(tx, caller, grant, rule)
    if (!(await deleteRoleAssignments(tx, grant)))
      throw noSuch('role assignment with role', grant.roleId)
  })
}

async function managedGrant(
  db: Executor,
  caller: Caller,
  grant: RoleAssignment,
  rule: string,
): Promise<{ readonly role: Role; readonly targetDomain: string | undefined }> {
  const role = await requireRole(db, grant.roleId)
  const targetDomain = await requirePlace(db, caller, grant, rule)
  if (caller.domainId !== null && !(await isManaged(db, role, targetDomain)))
    throw new Failure(
      'forbidden',
      `${rule}: the role ${role.name} is given by administrators only.`,
    )
  return { role, targetDomain }
}

/** Roles of a domain are for its own targets, and only by what they bring. */
async function isManaged(
  db: Executor,
  { id, domainId }: Role,
  targetDomain: string | undefined,
): Promise<boolean> {
  const isOwn = domainId === '' || domainId === targetDomain
  return isOwn && isManagedRole(await roleModel(db), id)
}

async function requireRole(db: Executor, id: string): Promise<Role> {
  const role = await findRole(db, id)
  if (role === undefined) throw noSuch('role', id)
  return role
}

/** The domain of the target; undefined for the system. Actor and target must exist, and be in the caller's reach. */
async function requirePlace(
  db: Executor,
  caller: Caller,
  { actorType, actorId, targetType, targetId }: GrantPlace,
  rule: string,
): Promise<string | undefined> {
  const actor = await (actorType === 'user' ? findUser(db, actorId) : findGroup(db, actorId))
  reached(actor, actorType, actorId, caller, rule)
  if (targetType === 'system') return undefined
  const target =
    targetType === 'project'
      ? (await findProject(db, targetId))?.domain.id
      : (await findDomain(db, targetId))?.id
  enforceInDomain(caller, rule, target)
  if (target === undefined) throw noSuch(targetType, targetId)
  return target
}
