import { Failure } from '#common/errors.ts'
import { findDomain, listDomains } from '../../db/identity/domains.ts'
import { assignedTargets } from '../../db/identity/role-assignments.ts'
import { enforce } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import type { Identity } from './identity.ts'
import { type Listed, listed, READ_MAX } from './listed.ts'
import type { Domain, NameFilter } from './model.ts'

export async function allDomains({ db }: Identity, filter: NameFilter): Promise<Listed<Domain>> {
  return listed(await listDomains(db, filter, READ_MAX))
}

/** The domain of the caller or of the token, or any one for whoever may see others. */
export async function oneDomain({ db }: Identity, caller: Caller, id: string): Promise<Domain> {
  const own = [caller.userDomainId, caller.projectDomainId, caller.domainId]
  if (!own.includes(id)) enforce(caller, 'identity:get_domain:other')
  const domain = await findDomain(db, id)
  if (domain === undefined) throw new Failure('not-found', `Domain ${id} could not be found.`)
  return domain
}

/** The domains in which the caller has a role. */
export async function domainsOfCaller(
  { db }: Identity,
  { userId }: Caller,
): Promise<Listed<Domain>> {
  const ids = await assignedTargets(db, userId, 'domain', READ_MAX)
  return listed(await listDomains(db, { ids, enabled: true }, READ_MAX))
}

/** True when the caller has a role on the system. */
export async function hasSystemRole({ db }: Identity, { userId }: Caller): Promise<boolean> {
  return (await assignedTargets(db, userId, 'system', 1)).length > 0
}
