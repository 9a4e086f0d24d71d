import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { deleteRoles } from '../../db/identity/delete-identities.ts'
import { lockDomain } from '../../db/identity/domains.ts'
import {
  deleteImplication,
  ensureImplication,
  findRole,
  insertRole,
  listRoles,
  lockRole,
  roleModel,
  updateRole,
} from '../../db/identity/roles.ts'
import type { Caller } from '../request-context.ts'
import { changeAccess } from './change-access.ts'
import { enforceInDomain } from './domain-reach.ts'
import type { Identity } from './identity.ts'
import { type ListQuery, readPage } from './list-query.ts'
import type { Listed } from './listed.ts'
import {
  boundedExtra,
  newKeystoneId,
  noSuch,
  type Role,
  refuseChange,
  refuseDelete,
} from './model.ts'

/** The roles of the whole cloud, or those of the domain asked for. */
export async function allRoles(
  { db }: Identity,
  caller: Caller,
  query: ListQuery,
): Promise<Listed<Role>> {
  const { domainId = '' } = query
  if (domainId !== '') enforceInDomain(caller, 'identity:list_domain_roles', domainId)
  return readPage(query, (filter, limit) => listRoles(db, { ...filter, domainId }, limit))
}

/** Throws `not-found`, and `forbidden` for the role of a domain outside the token. */
export async function oneRole({ db }: Identity, caller: Caller, id: string): Promise<Role> {
  const role = await findRole(db, id)
  if (role === undefined) throw noSuch('role', id)
  if (role.domainId !== '') enforceInDomain(caller, 'identity:get_domain_role', role.domainId)
  return role
}

/** A role and those it implies by itself. */
export interface Inference {
  readonly prior: Role
  readonly implies: readonly Role[]
}

/** Every role that implies others. */
export async function allInferences({ db }: Identity): Promise<readonly Inference[]> {
  const { roles, implied } = await roleModel(db)
  return roles
    .map((prior) => {
      const ids = implied
        .filter(({ priorId }) => priorId === prior.id)
        .map(({ impliedId }) => impliedId)
      return { prior, implies: roles.filter(({ id }) => ids.includes(id)) }
    })
    .filter(({ implies }) => implies.length > 0)
}

/** A role and those that it implies directly, maybe none. Throws `not-found`. */
export async function inferenceOf(
  identity: Identity,
  caller: Caller,
  priorId: string,
): Promise<Inference> {
  const prior = await oneRole(identity, caller, priorId)
  const known = (await allInferences(identity)).find((it) => it.prior.id === priorId)
  return known ?? { prior, implies: [] }
}

/** Throws `not-found` when the one does not imply the other by itself. */
export async function oneInference(
  identity: Identity,
  caller: Caller,
  priorId: string,
  impliedId: string,
): Promise<{ readonly prior: Role; readonly implied: Role }> {
  const { prior, implies } = await inferenceOf(identity, caller, priorId)
  const implied = implies.find(({ id }) => id === impliedId)
  if (implied === undefined) throw noSuch(`implied role of ${priorId}`, impliedId)
  return { prior, implied }
}

/** As Keystone's `prohibited_implied_role`: a user with another role must not become an administrator by accident. */
const NEVER_IMPLIED = 'admin'

type RoleFields = Omit<Role, 'id'>

/** Throws `conflict` for a name that is taken. */
export async function createRole({ db }: Identity, fields: RoleFields): Promise<Role> {
  const role = { ...fields, extra: boundedExtra({}, fields.extra), id: newKeystoneId() }
  return db.transaction(async (tx) => {
    if (role.domainId !== '' && (await lockDomain(tx, role.domainId)) === undefined)
      throw noSuch('domain', role.domainId)
    await insertRole(tx, role)
    return role
  })
}

/**
 * Afterwards the role has these fields; others stay. Throws `not-found`, `forbidden` for an immutable role, `invalid`
 * for a change of its domain, `conflict` for a name that is taken.
 */
export async function changeRole(
  identity: Identity,
  id: string,
  { domainId, ...change }: Partial<RoleFields>,
): Promise<Role> {
  return changeAccess(identity, async (tx) => {
    const before = await lockedRole(tx, id)
    if (domainId !== undefined && domainId !== before.domainId)
      throw new Failure('invalid', 'Update of `domain_id` is not allowed.')
    const extra = boundedExtra(before.extra, change.extra ?? {})
    const after = { ...before, ...change, extra }
    refuseChange('role', before, after.immutable)
    await updateRole(tx, after)
    return after
  })
}

/** Afterwards no user has the role, no role implies it, and it is gone. */
export async function removeRole(identity: Identity, id: string): Promise<void> {
  await changeAccess(identity, async (tx) => {
    refuseDelete('role', await lockedRole(tx, id))
    await deleteRoles(tx, [id])
  })
}

/** Afterwards users with the one role have the other, too. */
export async function implyRole(
  identity: Identity,
  priorId: string,
  impliedId: string,
): Promise<{ readonly prior: Role; readonly implied: Role }> {
  return changeAccess(identity, async (tx) => {
    const prior = await lockedRole(tx, priorId)
    const implied = await lockedRole(tx, impliedId)
    if (implied.name === NEVER_IMPLIED && implied.domainId === '')
      throw new Failure('forbidden', `${impliedId} cannot be an implied role.`)
    if (priorId === impliedId) throw new Failure('invalid', 'A role does not imply itself.')
    if (implied.domainId !== '')
      throw new Failure('invalid', 'A role of a domain cannot be implied.')
    await ensureImplication(tx, priorId, impliedId)
    return { prior, implied }
  })
}

/** Afterwards the first role does not imply the second. Throws `not-found` for either role, and if it did not. */
export async function endImplication(
  identity: Identity,
  priorId: string,
  impliedId: string,
): Promise<void> {
  await changeAccess(identity, async (tx) => {
    for (const id of [priorId, impliedId])
      if ((await findRole(tx, id)) === undefined) throw noSuch('role', id)
    if (!(await deleteImplication(tx, priorId, impliedId)))
      throw noSuch(`implied role of ${priorId}`, impliedId)
  })
}

async function lockedRole(tx: Tx, id: string): Promise<Role> {
  const role = await lockRole(tx, id)
  if (role === undefined) throw noSuch('role', id)
  return role
}
