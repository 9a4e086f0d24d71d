import { isDuplicate } from '#common/db/failures.ts'
import { Failure } from '#common/errors.ts'
import {
  deleteRegisteredLimit,
  findRegisteredLimit,
  insertRegisteredLimit,
  isLimitReferenced,
  updateRegisteredLimit,
} from '../../../db/identity/registered-limits.ts'
import { catalogEntries } from '../catalog-entries.ts'
import type { Identity } from '../identity.ts'
import { newKeystoneId } from '../model.ts'
import { expectKnown } from './expect-known.ts'
import type { LimitedResource, RegisteredLimit } from './limit.ts'
import { noSuchRegisteredLimit } from './read-limits.ts'

const NOWHERE = ''

/**
 * Afterwards all of them are registered, or none. Throws `invalid` for a service or region there is not, `conflict`
 * for a resource that has one.
 */
export async function createRegisteredLimits(
  identity: Identity,
  asked: readonly Omit<RegisteredLimit, 'id'>[],
): Promise<readonly RegisteredLimit[]> {
  for (const { resource } of asked) await expectResource(identity, resource)
  const made = asked.map((limit) => ({ ...limit, id: newKeystoneId() }))
  await identity.db.transaction(async (tx) => {
    for (const limit of made) if (!(await insertRegisteredLimit(tx, limit))) throw taken()
  })
  return made
}

/** Throws as above; `forbidden` while somebody has a limit of its own, `not-found`. */
export async function changeRegisteredLimit(
  identity: Identity,
  id: string,
  change: Partial<Omit<RegisteredLimit, 'id' | 'resource'>> & {
    readonly resource: Partial<LimitedResource>
  },
): Promise<RegisteredLimit> {
  const before = await findRegisteredLimit(identity.db, id)
  if (before === undefined) throw noSuchRegisteredLimit(id)
  const after = { ...before, ...change, resource: { ...before.resource, ...change.resource } }
  await expectResource(identity, after.resource)
  await identity.db.transaction(async (tx) => {
    if (await isLimitReferenced(tx, id)) throw referenced(id)
    try {
      await updateRegisteredLimit(tx, after)
    } catch (error) {
      throw isDuplicate(error) ? taken() : error
    }
  })
  return after
}

/** Throws `forbidden` while somebody has a limit of its own, `not-found`. */
export async function removeRegisteredLimit({ db }: Identity, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    if (await isLimitReferenced(tx, id)) throw referenced(id)
    if (!(await deleteRegisteredLimit(tx, id))) throw noSuchRegisteredLimit(id)
  })
}

/** Throws `invalid` for a service or region there is not. */
async function expectResource(
  identity: Identity,
  { serviceId, regionId }: LimitedResource,
): Promise<void> {
  const { services, regions } = await catalogEntries(identity, NOWHERE)
  const isServed = services.some(({ id }) => id === serviceId)
  const isThere = regionId === null || regions.some(({ id }) => id === regionId)
  expectKnown(isServed, 'service_id', 'registered_limit')
  expectKnown(isThere, 'region_id', 'registered_limit')
}

function taken(): Failure {
  return new Failure(
    'conflict',
    'Conflict occurred attempting to store registered_limit - Duplicate entry.',
  )
}

function referenced(id: string): Failure {
  return new Failure(
    'forbidden',
    `Unable to update or delete registered limit ${id} because there are project limits associated with it.`,
  )
}
