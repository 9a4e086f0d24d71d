import { findUser, listUsers } from '../../db/identity/users.ts'
import type { Caller } from '../request-context.ts'
import { enforceInDomain, listedDomain } from './domain-reach.ts'
import type { Identity } from './identity.ts'
import { type ListQuery, readPage } from './list-query.ts'
import { type Listed, NO_ENTRIES } from './listed.ts'
import type { User } from './model.ts'
import { noSuch } from './no-such.ts'

/** The users; with a token for a domain, the users of that domain. */
export async function allUsers(
  { db }: Identity,
  caller: Caller,
  query: ListQuery,
): Promise<Listed<User>> {
  const domainId = listedDomain(caller, query.domainId)
  if (domainId === null) return NO_ENTRIES
  return readPage(query, (filter, limit) => listUsers(db, { ...filter, domainId }, limit))
}

/** The caller, or any user for callers whom the rule lets see others. */
export async function oneUser(
  { db }: Identity,
  caller: Caller,
  id: string,
  othersRule = 'identity:get_user:other',
): Promise<User> {
  const user = await findUser(db, id)
  if (id !== caller.userId) enforceInDomain(caller, othersRule, user?.domain.id)
  if (user === undefined) throw noSuch('user', id)
  return user
}
