import { and, eq, inArray, or } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import {
  accessRules,
  applicationCredentials,
  credentials,
  domains,
  roleAssignments as given,
  groupMembers,
  impliedRoles,
  projects,
  roles,
  trusts,
  userGroups,
  users,
} from '../schema/identity.ts'
import { deleteLimitsOf } from './own-limits.ts'
import { deleteTokens } from './tokens.ts'
import { deleteTrusts } from './trusts.ts'

/** Afterwards the users are gone with everything that was theirs: roles, memberships, credentials, tokens. */
export async function deleteUsers(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const all = [...ids]
  await deleteTokens(tx, { userIds: all })
  await deleteTrusts(tx, or(inArray(trusts.trustorUserId, all), inArray(trusts.trusteeUserId, all)))
  await tx.orm.delete(applicationCredentials).where(inArray(applicationCredentials.userId, all))
  await tx.orm.delete(credentials).where(inArray(credentials.userId, all))
  await tx.orm.delete(accessRules).where(inArray(accessRules.userId, all))
  await tx.orm.delete(groupMembers).where(inArray(groupMembers.userId, all))
  await tx.orm.delete(given).where(and(eq(given.actorType, 'user'), inArray(given.actorId, all)))
  await tx.orm.delete(users).where(inArray(users.id, all))
}

/** Afterwards the groups are gone, and what their members had by them. */
export async function deleteGroups(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const all = [...ids]
  await tx.orm.delete(groupMembers).where(inArray(groupMembers.groupId, all))
  await tx.orm.delete(given).where(and(eq(given.actorType, 'group'), inArray(given.actorId, all)))
  await tx.orm.delete(userGroups).where(inArray(userGroups.id, all))
}

/** Afterwards the projects are gone, with the roles, credentials and tokens for them. Their resources stay. */
export async function deleteProjects(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const all = [...ids]
  await deleteTokens(tx, { scope: { type: 'project', ids: all } })
  await deleteTrusts(tx, inArray(trusts.projectId, all))
  await tx.orm.delete(applicationCredentials).where(inArray(applicationCredentials.projectId, all))
  await tx.orm.delete(credentials).where(inArray(credentials.projectId, all))
  await tx.orm
    .delete(given)
    .where(and(eq(given.targetType, 'project'), inArray(given.targetId, all)))
  await tx.orm
    .update(users)
    .set({ defaultProjectId: null })
    .where(inArray(users.defaultProjectId, all))
  await deleteLimitsOf(tx, 'project', all)
  await tx.orm.delete(projects).where(inArray(projects.id, all))
}

/** Afterwards the roles are gone wherever they were given or implied. */
export async function deleteRoles(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const all = [...ids]
  const isPart = or(
    inArray(impliedRoles.priorRoleId, all),
    inArray(impliedRoles.impliedRoleId, all),
  )
  await tx.orm.delete(impliedRoles).where(isPart)
  await tx.orm.delete(given).where(inArray(given.roleId, all))
  await tx.orm.delete(roles).where(inArray(roles.id, all))
}

/** Afterwards the domain is gone with its projects, users, groups and roles. */
export async function deleteDomain(tx: Tx, id: string): Promise<void> {
  const idsIn = async (table: typeof users | typeof projects | typeof userGroups | typeof roles) =>
    (await tx.orm.select({ id: table.id }).from(table).where(eq(table.domainId, id))).map(
      (row) => row.id,
    )
  await deleteUsers(tx, await idsIn(users))
  await deleteGroups(tx, await idsIn(userGroups))
  await deleteProjects(tx, await idsIn(projects))
  await deleteRoles(tx, await idsIn(roles))
  await deleteTokens(tx, { scope: { type: 'domain', ids: [id] } })
  await tx.orm.delete(given).where(and(eq(given.targetType, 'domain'), eq(given.targetId, id)))
  await deleteLimitsOf(tx, 'domain', [id])
  await tx.orm.delete(domains).where(eq(domains.id, id))
}
