import { Failure } from '#common/errors.ts'
import { findRole, listRoles } from '../../db/identity/roles.ts'
import type { Identity } from './identity.ts'
import { type Listed, listed, READ_MAX } from './listed.ts'
import type { Role } from './model.ts'

/** Every role, or the one of this name. */
export async function allRoles({ db }: Identity, name: string | undefined): Promise<Listed<Role>> {
  return listed(await listRoles(db, name, READ_MAX))
}

export async function oneRole({ db }: Identity, id: string): Promise<Role> {
  const role = await findRole(db, id)
  if (role === undefined) throw new Failure('not-found', `Role ${id} could not be found.`)
  return role
}
