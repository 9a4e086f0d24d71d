import { Failure } from '#common/errors.ts'
import { findUser, listUsers } from '../../db/identity/users.ts'
import { enforce } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import type { Identity } from './identity.ts'
import { type Listed, listed, READ_MAX } from './listed.ts'
import type { NameFilter, User } from './model.ts'

export async function allUsers({ db }: Identity, filter: NameFilter): Promise<Listed<User>> {
  return listed(await listUsers(db, filter, READ_MAX))
}

/** The caller, or anyone for whoever may see others. */
export async function oneUser({ db }: Identity, caller: Caller, id: string): Promise<User> {
  if (id !== caller.userId) enforce(caller, 'identity:get_user:other')
  const user = await findUser(db, id)
  if (user === undefined) throw new Failure('not-found', `User ${id} could not be found.`)
  return user
}
