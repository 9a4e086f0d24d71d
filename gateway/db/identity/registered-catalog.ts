import { asc, eq, inArray } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { Extra } from '../../app/identity/model.ts'
import type {
  RegisteredEndpoint,
  RegisteredRegion,
  RegisteredService,
} from '../../app/identity/registered-catalog.ts'
import {
  catalogEndpoints as endpoints,
  ownLimits,
  regions,
  registeredLimits,
  catalogServices as services,
} from '../schema/identity.ts'

/** Registered by administrators, so there are few; more than this are not read. */
const ENTRIES_MAX = 1_000

export async function registeredRegions(db: Executor): Promise<readonly RegisteredRegion[]> {
  const rows = await db.orm.select().from(regions).orderBy(asc(regions.id)).limit(ENTRIES_MAX)
  return rows.map((row) => ({ ...row, extra: row.extra as Extra }))
}

export async function registeredServices(db: Executor): Promise<readonly RegisteredService[]> {
  const rows = await db.orm.select().from(services).orderBy(asc(services.id)).limit(ENTRIES_MAX)
  return rows.map((row) => ({ ...row, extra: row.extra as Extra }))
}

export async function registeredEndpoints(db: Executor): Promise<readonly RegisteredEndpoint[]> {
  const rows = await db.orm.select().from(endpoints).orderBy(asc(endpoints.id)).limit(ENTRIES_MAX)
  return rows.map((row) => ({
    ...row,
    interface: row.interface as RegisteredEndpoint['interface'],
    extra: row.extra as Extra,
  }))
}

/** Afterwards the region exists; false when there was one of this id, which is left as it is. */
export async function ensureRegion(db: Executor, region: RegisteredRegion): Promise<boolean> {
  const [result] = await db.orm.insert(regions).ignore().values(region)
  return result.affectedRows > 0
}

export async function updateRegion(db: Executor, region: RegisteredRegion): Promise<void> {
  await db.orm.update(regions).set(region).where(eq(regions.id, region.id))
}

/** True while endpoints, limits or other regions are in the region. */
export async function isRegionUsed(tx: Tx, id: string): Promise<boolean> {
  const inRegion = await tx.orm
    .select({ id: endpoints.id })
    .from(endpoints)
    .where(eq(endpoints.regionId, id))
    .limit(1)
  const below = await tx.orm
    .select({ id: regions.id })
    .from(regions)
    .where(eq(regions.parentRegionId, id))
    .limit(1)
  const limited = await tx.orm
    .select({ id: registeredLimits.id })
    .from(registeredLimits)
    .where(eq(registeredLimits.regionId, id))
    .limit(1)
  return inRegion.length + below.length + limited.length > 0
}

export async function deleteRegion(tx: Tx, id: string): Promise<void> {
  await tx.orm.delete(regions).where(eq(regions.id, id))
}

/** Afterwards the service is registered as given. */
export async function putService(db: Executor, service: RegisteredService): Promise<void> {
  await db.orm.insert(services).values(service).onDuplicateKeyUpdate({ set: service })
}

/** Afterwards the service, its endpoints and its limits are gone. */
export async function deleteService(tx: Tx, id: string): Promise<void> {
  await tx.orm.delete(endpoints).where(eq(endpoints.serviceId, id))
  const limitsOfIt = tx.orm
    .select({ id: registeredLimits.id })
    .from(registeredLimits)
    .where(eq(registeredLimits.serviceId, id))
  await tx.orm.delete(ownLimits).where(inArray(ownLimits.registeredId, limitsOfIt))
  await tx.orm.delete(registeredLimits).where(eq(registeredLimits.serviceId, id))
  await tx.orm.delete(services).where(eq(services.id, id))
}

/** Afterwards the endpoint is registered as given. */
export async function putEndpoint(db: Executor, endpoint: RegisteredEndpoint): Promise<void> {
  await db.orm.insert(endpoints).values(endpoint).onDuplicateKeyUpdate({ set: endpoint })
}

export async function deleteEndpoint(db: Executor, id: string): Promise<void> {
  await db.orm.delete(endpoints).where(eq(endpoints.id, id))
}
