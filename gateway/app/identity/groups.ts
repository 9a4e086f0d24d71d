import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { deleteGroups } from '../../db/identity/delete-identities.ts'
import { lockDomain } from '../../db/identity/domains.ts'
import {
  deleteMember,
  ensureMember,
  groupsOf,
  isMember,
  membersOf,
} from '../../db/identity/group-members.ts'
import {
  findGroup,
  insertGroup,
  listGroups,
  lockGroup,
  updateGroup,
} from '../../db/identity/groups.ts'
import { findUser, listUsers } from '../../db/identity/users.ts'
import type { Caller } from '../request-context.ts'
import { changeAccess } from './change-access.ts'
import { domainOfNew, enforceInDomain, listedDomain, reached } from './domain-reach.ts'
import type { Identity } from './identity.ts'
import { type ListQuery, readPage } from './list-query.ts'
import { type Listed, NO_ENTRIES, READ_MAX } from './listed.ts'
import { refuseAboveManager } from './managed-roles.ts'
import { boundedExtra, type Extra, type Group, newKeystoneId, noSuch, type User } from './model.ts'
import { oneUser } from './users.ts'

/** The groups; with a token for a domain, the groups of that domain. */
export async function allGroups(
  { db }: Identity,
  caller: Caller,
  query: ListQuery,
): Promise<Listed<Group>> {
  const domainId = listedDomain(caller, query.domainId)
  if (domainId === null) return NO_ENTRIES
  return readPage(query, (filter, limit) => listGroups(db, { ...filter, domainId }, limit))
}

/** Throws `not-found`, and `forbidden` for a group outside the domain of the token. */
export async function oneGroup(
  { db }: Identity,
  caller: Caller,
  id: string,
  rule = 'identity:get_group',
): Promise<Group> {
  return reached(await findGroup(db, id), 'group', id, caller, rule)
}

/** The groups a user is in: the caller's own, or any user's for callers who may see those. */
export async function groupsOfUser(
  identity: Identity,
  caller: Caller,
  userId: string,
  query: ListQuery,
): Promise<Listed<Group>> {
  const { db } = identity
  const user = await oneUser(identity, caller, userId, 'identity:list_groups_for_user:other')
  const ids = await groupsOf(db, user.id, READ_MAX)
  return readPage(query, (filter, limit) => listGroups(db, { ...filter, ids }, limit))
}

/** A page of the members of a group. Throws `not-found`, `forbidden`. */
export async function usersInGroup(
  identity: Identity,
  caller: Caller,
  groupId: string,
  query: ListQuery,
): Promise<Listed<User>> {
  const { db } = identity
  await oneGroup(identity, caller, groupId, 'identity:list_users_in_group')
  const ids = (await membersOf(db, [groupId], READ_MAX)).map(({ userId }) => userId)
  return readPage(query, (filter, limit) => listUsers(db, { ...filter, ids }, limit))
}

/** Throws `not-found` for a user who is not in the group. */
export async function requireMember(
  identity: Identity,
  caller: Caller,
  groupId: string,
  userId: string,
): Promise<void> {
  const { db } = identity
  await oneGroup(identity, caller, groupId, 'identity:check_user_in_group')
  if ((await findUser(db, userId)) === undefined) throw noSuch('user', userId)
  if (!(await isMember(db, { groupId, userId }))) throw noSuch('user in group', userId)
}

interface GroupFields {
  readonly name: string
  readonly description: string
  readonly extra: Extra
}

/** Throws `conflict` for a name the domain has. */
export async function createGroup(
  { db }: Identity,
  caller: Caller,
  { domainId: asked, ...fields }: GroupFields & { readonly domainId: string | undefined },
): Promise<Group> {
  const domainId = domainOfNew(caller, asked)
  enforceInDomain(caller, 'identity:create_group', domainId)
  return db.transaction(async (tx) => {
    const domain = await lockDomain(tx, domainId)
    if (domain === undefined) throw noSuch('domain', domainId)
    const extra = boundedExtra({}, fields.extra)
    const group = { ...fields, extra, id: newKeystoneId(), domain }
    await insertGroup(tx, group)
    return group
  })
}

/**
 * Afterwards the group has these fields; others stay. Throws `not-found`, `forbidden`, `invalid` for a change of its
 * domain, `conflict` for a name that the domain has.
 */
export async function changeGroup(
  { db }: Identity,
  caller: Caller,
  id: string,
  { domainId, ...change }: Partial<GroupFields> & { readonly domainId?: string | undefined },
): Promise<Group> {
  return db.transaction(async (tx) => {
    const before = await lockedGroup(tx, caller, id, 'identity:update_group')
    if (domainId !== undefined && domainId !== before.domain.id)
      throw new Failure('invalid', 'Update of `domain_id` is not allowed.')
    const extra = boundedExtra(before.extra, change.extra ?? {})
    const after = { ...before, ...change, extra }
    await updateGroup(tx, after)
    return after
  })
}

/** Afterwards the group is gone, and the roles its members had by it. */
export async function removeGroup(identity: Identity, caller: Caller, id: string): Promise<void> {
  await changeAccess(identity, async (tx) => {
    await lockedGroup(tx, caller, id, 'identity:delete_group')
    await deleteGroups(tx, [id])
  })
}

/** Afterwards the user is in the group, and has its roles. */
export async function addMember(
  identity: Identity,
  caller: Caller,
  groupId: string,
  userId: string,
): Promise<void> {
  const rule = 'identity:add_user_to_group'
  await changeAccess(identity, async (tx) => {
    await lockedGroup(tx, caller, groupId, rule)
    reached(await findUser(tx, userId), 'user', userId, caller, rule)
    await ensureMember(tx, { groupId, userId })
  })
}

/** Afterwards the user is not in the group; throws `not-found` when that was so before. */
export async function removeMember(
  identity: Identity,
  caller: Caller,
  groupId: string,
  userId: string,
): Promise<void> {
  const rule = 'identity:remove_user_from_group'
  await changeAccess(identity, async (tx) => {
    await lockedGroup(tx, caller, groupId, rule)
    reached(await findUser(tx, userId), 'user', userId, caller, rule)
    if (!(await deleteMember(tx, { groupId, userId }))) throw noSuch('user in group', userId)
  })
}

async function lockedGroup(tx: Tx, caller: Caller, id: string, rule: string): Promise<Group> {
  const group = reached(await lockGroup(tx, id), 'group', id, caller, rule)
  await refuseAboveManager(tx, caller, { what: 'group', id }, rule)
  return group
}
