import { groupsOf, isMember, membersOf } from '../../db/identity/group-members.ts'
import { findGroup, listGroups } from '../../db/identity/groups.ts'
import { findUser, listUsers } from '../../db/identity/users.ts'
import type { Caller } from '../request-context.ts'
import { listedDomain, reached } from './domain-reach.ts'
import type { Identity } from './identity.ts'
import { type ListQuery, readPage } from './list-query.ts'
import { type Listed, NO_ENTRIES, READ_MAX } from './listed.ts'
import type { Group, User } from './model.ts'
import { noSuch } from './no-such.ts'
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
