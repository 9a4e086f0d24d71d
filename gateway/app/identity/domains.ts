import { Failure } from '#common/errors.ts'
import { assignedTargets } from '../../db/identity/assigned-roles.ts'
import { deleteDomain } from '../../db/identity/delete-identities.ts'
import {
  findDomain,
  insertDomain,
  listDomains,
  lockDomain,
  updateDomain,
} from '../../db/identity/domains.ts'
import { deleteDomainTokens } from '../../db/identity/tokens.ts'
import { enforce } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import { changeAccess } from './change-access.ts'
import { enforceInDomain, listedDomain } from './domain-reach.ts'
import type { Identity } from './identity.ts'
import { type ListQuery, readPage } from './list-query.ts'
import { type Listed, listed, NO_ENTRIES, READ_MAX } from './listed.ts'
import {
  type Domain,
  type Extra,
  newKeystoneId,
  noSuch,
  refuseChange,
  refuseDelete,
} from './model.ts'

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

/** The domain there is from the start: names without a domain are looked up in it by many clients. */
const DEFAULT_DOMAIN = 'default'

type DomainFields = Omit<Domain, 'id'>

/** Throws `conflict` for a name that is taken. */
export async function createDomain({ db }: Identity, fields: DomainFields): Promise<Domain> {
  const domain = { ...fields, id: newKeystoneId() }
  await insertDomain(db, domain)
  return domain
}

/** Afterwards the domain is as given; once it is disabled, no token of its users and none for it is valid. */
export async function changeDomain(
  identity: Identity,
  id: string,
  change: Partial<DomainFields>,
): Promise<Domain> {
  return changeAccess(identity, async (tx) => {
    const before = await lockDomain(tx, id)
    if (before === undefined) throw noSuch('domain', id)
    const after = { ...before, ...change }
    refuseChange('domain', before, after.immutable)
    await updateDomain(tx, after)
    if (!after.enabled) await deleteDomainTokens(tx, id)
    return after
  })
}

/** The properties of a request that treats a domain as a project, as Keystone allows. */
interface AsProject extends Partial<DomainFields> {
  readonly domainId?: string | undefined
  readonly parentId?: string | undefined
  readonly tags?: readonly string[]
  readonly extra?: Extra
}

/** As `createDomain`. Throws `forbidden`, and `invalid` for what a domain cannot have. */
export async function createDomainAsProject(
  identity: Identity,
  caller: Caller,
  asked: AsProject & DomainFields,
): Promise<Domain> {
  enforce(caller, 'identity:create_domain')
  if (asked.domainId !== undefined || asked.parentId !== undefined)
    throw new Failure(
      'invalid',
      'A project that acts as a domain (is_domain) is in no domain and below no project: leave out domain_id and parent_id.',
    )
  refuseOfProjects(asked)
  const { name, description, enabled, immutable } = asked
  return createDomain(identity, { name, description, enabled, immutable })
}

/** As `changeDomain`. Throws `forbidden`, and `invalid` for what a domain cannot have. */
export async function changeDomainAsProject(
  identity: Identity,
  caller: Caller,
  id: string,
  { tags, extra, ...change }: AsProject,
): Promise<Domain> {
  enforce(caller, 'identity:update_domain')
  refuseOfProjects({ ...(tags && { tags }), ...(extra && { extra }) })
  return changeDomain(identity, id, change)
}

function refuseOfProjects({ tags = [], extra = {} }: AsProject): void {
  const [unknown] = [...(tags.length > 0 ? ['tags'] : []), ...Object.keys(extra)]
  if (unknown !== undefined)
    throw new Failure('invalid', `A domain has no ${unknown}: leave it out.`)
}

/** True if a domain has this id. */
export async function isDomain({ db }: Identity, id: string): Promise<boolean> {
  return (await findDomain(db, id)) !== undefined
}

/** Afterwards the domain is gone, with its projects, users, groups and roles. Only a disabled one can be deleted. */
export async function removeDomain(identity: Identity, id: string): Promise<void> {
  await changeAccess(identity, async (tx) => {
    const domain = await lockDomain(tx, id)
    if (domain === undefined) throw noSuch('domain', id)
    refuseDelete('domain', domain)
    if (id === DEFAULT_DOMAIN)
      throw new Failure('forbidden', 'The default domain cannot be deleted.')
    if (domain.enabled)
      throw new Failure(
        'forbidden',
        'Cannot delete a domain that is enabled, please disable it first.',
      )
    await deleteDomain(tx, id)
  })
}
