import { assignedTargets } from '../../db/identity/assigned-roles.ts'
import { findDomain, listDomains } from '../../db/identity/domains.ts'
import type { Caller } from '../request-context.ts'
import { enforceInDomain, listedDomain } from './domain-reach.ts'
import type { Identity } from './identity.ts'
import { type ListQuery, readPage } from './list-query.ts'
import { type Listed, listed, NO_ENTRIES, READ_MAX } from './listed.ts'
import type { Domain } from './model.ts'
import { noSuch } from './no-such.ts'

/** The domains; with a token for a domain, that one. */
export async function allDomains(
  { db }: Identity,
  caller: Caller,
  query: ListQuery,
): Promise<Listed<Domain>> {
  const own = listedDomain(caller, undefined)
  if (own === null) return NO_ENTRIES
  const ids = own === undefined ? undefined : [own]
  return readPage(query, (filter, limit) => listDomains(db, { ...filter, ids }, limit))
}

/** The domain of the caller or of the token, or any one for callers who may see others. */
export async function oneDomain({ db }: Identity, caller: Caller, id: string): Promise<Domain> {
  const own = [caller.userDomainId, caller.projectDomainId, caller.domainId]
  const domain = await findDomain(db, id)
  if (!own.includes(id)) enforceInDomain(caller, 'identity:get_domain:other', domain?.id)
  if (domain === undefined) throw noSuch('domain', id)
  return domain
}

/** The domains in which the caller has a role. */
export async function domainsOfCaller(
  { db }: Identity,
  { userId }: Caller,
): Promise<Listed<Domain>> {
  const { domainIds } = await assignedTargets(db, userId, READ_MAX)
  return listed(await listDomains(db, { ids: domainIds, enabled: true }, READ_MAX))
}

/** True when the caller has a role on the system. */
export async function hasSystemRole({ db }: Identity, { userId }: Caller): Promise<boolean> {
  return (await assignedTargets(db, userId, READ_MAX)).system
}
