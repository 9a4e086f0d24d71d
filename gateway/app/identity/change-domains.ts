import { Failure } from '#common/errors.ts'
import { deleteDomain } from '../../db/identity/delete-identities.ts'
import { insertDomain, lockDomain, updateDomain } from '../../db/identity/domains.ts'
import { deleteDomainTokens } from '../../db/identity/tokens.ts'
import { changeAccess } from './change-access.ts'
import type { Identity } from './identity.ts'
import { refuseChange, refuseDelete } from './immutable.ts'
import { newKeystoneId } from './keystone-id.ts'
import type { Domain } from './model.ts'
import { noSuch } from './no-such.ts'

/** The domain there is from the start: names without a domain are looked up in it by many clients. */
const DEFAULT_DOMAIN = 'default'

export type DomainFields = Omit<Domain, 'id'>

/** Throws `conflict` for a name that is taken. */
export async function createDomain({ db }: Identity, fields: DomainFields): Promise<Domain> {
  const domain = { ...fields, id: newKeystoneId() }
  await insertDomain(db, domain)
  return domain
}

/** Afterwards the domain is as given; once disabled, nobody of it or in it has a valid token. */
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
