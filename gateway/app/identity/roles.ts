import { findRole, listRoles, roleModel } from '../../db/identity/roles.ts'
import type { Caller } from '../request-context.ts'
import { enforceInDomain } from './domain-reach.ts'
import type { Identity } from './identity.ts'
import { type ListQuery, readPage } from './list-query.ts'
import type { Listed } from './listed.ts'
import type { Role } from './model.ts'
import { noSuch } from './no-such.ts'

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
