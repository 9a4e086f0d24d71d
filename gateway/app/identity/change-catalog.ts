import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import {
  deleteEndpoint,
  deleteRegion,
  deleteService,
  ensureRegion,
  isRegionUsed,
  putEndpoint,
  putService,
  updateRegion,
} from '../../db/identity/registered-catalog.ts'
import { type CatalogEntries, catalogAt } from './catalog.ts'
import { catalogEntries, oneEntry } from './catalog-entries.ts'
import type { Identity } from './identity.ts'
import { boundedExtra, newKeystoneId } from './model.ts'
import type {
  RegisteredEndpoint,
  RegisteredRegion,
  RegisteredService,
} from './registered-catalog.ts'

/** The base URL of the deployment's links does not matter to registered services. */
const ANYWHERE = ''
/** More would make every token's catalog too large to be read. */
const ENTRIES_MAX = 500

/** Throws `conflict` when there is a region of this id; one is made up when undefined. */
export async function createRegion(
  identity: Identity,
  asked: Omit<RegisteredRegion, 'id'> & { readonly id: string | undefined },
): Promise<RegisteredRegion> {
  const extra = boundedExtra({}, asked.extra)
  const region = { ...asked, extra, id: asked.id ?? newKeystoneId() }
  const { regions } = await catalogEntries(identity, ANYWHERE)
  refuseTooMany(regions)
  requireParent(regions, region)
  const isTaken = region.id === identity.region || !(await ensureRegion(identity.db, region))
  if (isTaken)
    throw new Failure(
      'conflict',
      `Conflict occurred attempting to store region - Duplicate ID, ${region.id}.`,
    )
  return region
}

/**
 * Afterwards the registered region has these fields; others stay. Throws `not-found` for it or its parent, `forbidden` for
 * the region of Weir itself, `invalid` for a region below itself.
 */
export async function changeRegion(
  identity: Identity,
  id: string,
  change: Partial<Omit<RegisteredRegion, 'id'>>,
): Promise<RegisteredRegion> {
  const { regions } = await registered(identity, 'regions', 'region', id)
  const before = oneEntry(regions, 'region', id)
  const extra = boundedExtra(before.extra, change.extra ?? {})
  const after = { ...before, ...change, extra }
  requireParent(regions, after)
  await updateRegion(identity.db, after)
  return after
}

/** Throws `forbidden` while an endpoint or a region is in it. */
export async function removeRegion(identity: Identity, id: string): Promise<void> {
  await registered(identity, 'regions', 'region', id)
  await identity.db.transaction(async (tx) => {
    if (await isRegionUsed(tx, id))
      throw new Failure(
        'forbidden',
        `Unable to delete region ${id} because it or its child regions have associated endpoints.`,
      )
    await deleteRegion(tx, id)
  })
}

/** Afterwards the service is registered under a new id. Throws `invalid` when too many are. */
export async function createService(
  identity: Identity,
  asked: Omit<RegisteredService, 'id'>,
): Promise<RegisteredService> {
  refuseTooMany((await catalogEntries(identity, ANYWHERE)).services)
  const extra = boundedExtra({}, asked.extra)
  const service = { ...asked, extra, id: newKeystoneId() }
  await putService(identity.db, service)
  return service
}

/**
 * Afterwards the registered service has these fields; others stay. Throws `not-found`, and `forbidden` for a service of
 * Weir itself.
 */
export async function changeService(
  identity: Identity,
  id: string,
  change: Partial<Omit<RegisteredService, 'id'>>,
): Promise<RegisteredService> {
  const { services } = await registered(identity, 'services', 'service', id)
  const before = oneEntry(services, 'service', id)
  const extra = boundedExtra(before.extra, change.extra ?? {})
  const after = { ...before, ...change, extra }
  await putService(identity.db, after)
  return after
}

/** Afterwards the service and its endpoints are not registered. */
export async function removeService(identity: Identity, id: string): Promise<void> {
  await registered(identity, 'services', 'service', id)
  await identity.db.transaction((tx) => deleteService(tx, id))
}

export interface EndpointFields extends Omit<RegisteredEndpoint, 'id'> {
  /** A region that is made where it is not there. */
  readonly region: string | undefined
}

/**
 * Afterwards the endpoint is registered under a new id. Throws `invalid` for an unknown service or region, and when too
 * many are registered.
 */
export async function createEndpoint(
  identity: Identity,
  asked: EndpointFields,
): Promise<RegisteredEndpoint> {
  const entries = await catalogEntries(identity, ANYWHERE)
  refuseTooMany(entries.endpoints)
  const { region, ...fields } = asked
  const extra = boundedExtra({}, asked.extra)
  const endpoint = { ...fields, extra, regionId: region ?? fields.regionId, id: newKeystoneId() }
  return putWithRegion(identity, entries, endpoint, region)
}

/**
 * Afterwards the registered endpoint has these fields; others stay. Throws `not-found`, `forbidden` for an endpoint of
 * Weir itself, `invalid` for an unknown service or region.
 */
export async function changeEndpoint(
  identity: Identity,
  id: string,
  { region, ...change }: Partial<EndpointFields>,
): Promise<RegisteredEndpoint> {
  const entries = await registered(identity, 'endpoints', 'endpoint', id)
  const before = oneEntry(entries.endpoints, 'endpoint', id)
  const extra = boundedExtra(before.extra, change.extra ?? {})
  const after = { ...before, ...change, extra, ...(region !== undefined && { regionId: region }) }
  return putWithRegion(identity, entries, after, region)
}

/** Afterwards the endpoint is not registered. Throws `not-found`, and `forbidden` for an endpoint of Weir itself. */
export async function removeEndpoint(identity: Identity, id: string): Promise<void> {
  await registered(identity, 'endpoints', 'endpoint', id)
  await deleteEndpoint(identity.db, id)
}

async function putWithRegion(
  { db }: Identity,
  { services, regions }: CatalogEntries,
  endpoint: RegisteredEndpoint,
  newRegion: string | undefined,
): Promise<RegisteredEndpoint> {
  if (!services.some(({ id }) => id === endpoint.serviceId))
    throw new Failure('invalid', `Could not find service: ${endpoint.serviceId}.`)
  const { regionId } = endpoint
  const isKnown = regionId === null || regions.some(({ id }) => id === regionId)
  if (!isKnown && newRegion === undefined)
    throw new Failure('invalid', `Could not find region: ${regionId}.`)
  await db.transaction(async (tx: Tx) => {
    if (!isKnown)
      await ensureRegion(tx, { id: regionId, parentRegionId: null, description: '', extra: {} })
    await putEndpoint(tx, endpoint)
  })
  return endpoint
}

/** The catalog, in which the entry is a registered one; throws `forbidden` for one of this deployment. */
async function registered(
  identity: Identity,
  kind: keyof CatalogEntries,
  what: string,
  id: string,
): Promise<CatalogEntries> {
  const entries = await catalogEntries(identity, ANYWHERE)
  oneEntry<{ readonly id: string }>(entries[kind], what, id)
  if (catalogAt(ANYWHERE, identity.region)[kind].some((entry) => entry.id === id))
    throw new Failure(
      'forbidden',
      `The ${what} ${id} is served by this deployment: it cannot be changed or deleted.`,
    )
  return entries
}

function requireParent(regions: readonly RegisteredRegion[], region: RegisteredRegion): void {
  const above = new Set([region.id])
  for (let parent = region.parentRegionId; parent !== null; ) {
    if (above.has(parent))
      throw new Failure('invalid', `The region ${region.id} cannot be below itself.`)
    above.add(parent)
    parent = oneEntry(regions, 'region', parent).parentRegionId
  }
}

function refuseTooMany(entries: readonly unknown[]): void {
  if (entries.length >= ENTRIES_MAX)
    throw new Failure(
      'over-quota',
      `The catalog can have at most ${ENTRIES_MAX} entries of a kind.`,
    )
}
