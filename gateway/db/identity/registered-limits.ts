import { and, asc, eq, gt, type SQL } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import type {
  LimitedResource,
  LimitFilter,
  RegisteredLimit,
} from '../../app/identity/limits/limit.ts'
import { ownLimits, registeredLimits as table } from '../schema/identity.ts'

type Row = typeof table.$inferSelect

/** The registered limits that fit, in the order of their ids. */
export async function listRegisteredLimits(
  db: Executor,
  filter: LimitFilter,
  limit: number,
): Promise<readonly RegisteredLimit[]> {
  const { marker } = filter
  const rows = await db.orm
    .select()
    .from(table)
    .where(and(isOf(filter), marker === undefined ? undefined : gt(table.id, marker)))
    .orderBy(asc(table.id))
    .limit(limit)
  return rows.map(limitOf)
}

export async function findRegisteredLimit(
  db: Executor,
  id: string,
): Promise<RegisteredLimit | undefined> {
  const [row] = await db.orm.select().from(table).where(eq(table.id, id))
  return row && limitOf(row)
}

/** The id of the registered limit of the resource, which stays as long as the transaction lasts. */
export async function lockRegisteredLimit(
  tx: Tx,
  { serviceId, regionId, name }: LimitedResource,
): Promise<string | undefined> {
  const isLimit = isOf({ serviceId, regionId: regionId ?? '', resourceName: name })
  await lockRows(tx, table, isLimit)
  const [row] = await tx.orm.select({ id: table.id }).from(table).where(isLimit)
  return row?.id
}

/** False when the resource has one. */
export async function insertRegisteredLimit(tx: Tx, limit: RegisteredLimit): Promise<boolean> {
  const [result] = await tx.orm.insert(table).ignore().values(rowOf(limit))
  return result.affectedRows === 1
}

/** Throws the database's duplicate error when another has this resource. */
export async function updateRegisteredLimit(tx: Tx, limit: RegisteredLimit): Promise<void> {
  await tx.orm.update(table).set(rowOf(limit)).where(eq(table.id, limit.id))
}

/** True while projects or domains have limits of their own for this registered limit. */
export async function isLimitReferenced(tx: Tx, id: string): Promise<boolean> {
  await lockRows(tx, table, eq(table.id, id))
  const [own] = await tx.orm
    .select({ id: ownLimits.id })
    .from(ownLimits)
    .where(eq(ownLimits.registeredId, id))
    .limit(1)
  return own !== undefined
}

/** False when there was none. */
export async function deleteRegisteredLimit(tx: Tx, id: string): Promise<boolean> {
  const [result] = await tx.orm.delete(table).where(eq(table.id, id))
  return result.affectedRows === 1
}

/** The condition of what limits are of; shared with the limits of projects, which are joined to it. */
export function isOf({ serviceId, regionId, resourceName }: LimitFilter): SQL | undefined {
  return and(
    serviceId === undefined ? undefined : eq(table.serviceId, serviceId),
    regionId === undefined ? undefined : eq(table.regionId, regionId),
    resourceName === undefined ? undefined : eq(table.resourceName, resourceName),
  )
}

export function resourceOf(
  row: Pick<Row, 'serviceId' | 'regionId' | 'resourceName'>,
): LimitedResource {
  const { serviceId, regionId, resourceName: name } = row
  return { serviceId, regionId: regionId === '' ? null : regionId, name }
}

function limitOf(row: Row): RegisteredLimit {
  const { id, defaultLimit, description } = row
  return { id, resource: resourceOf(row), defaultLimit, description }
}

function rowOf({
  id,
  resource,
  defaultLimit,
  description,
}: RegisteredLimit): Omit<Row, 'lockVersion'> {
  const { serviceId, regionId, name: resourceName } = resource
  return { id, serviceId, regionId: regionId ?? '', resourceName, defaultLimit, description }
}
