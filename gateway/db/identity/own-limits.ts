import { and, asc, eq, gt, inArray, or, type SQL } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { LimitFilter, LimitOwner, OwnLimit } from '../../app/identity/limits/limit.ts'
import { projects, registeredLimits, ownLimits as table } from '../schema/identity.ts'
import { isOf, resourceOf } from './registered-limits.ts'

export interface OwnLimitFilter extends LimitFilter {
  readonly projectId?: string | undefined
  readonly domainId?: string | undefined
  /** Of this domain and of the projects in it. */
  readonly withinDomain?: string | undefined
}

/** The limits that fit, in the order of their ids. */
export async function listOwnLimits(
  db: Executor,
  filter: OwnLimitFilter,
  limit: number,
): Promise<readonly OwnLimit[]> {
  const { marker, projectId, domainId, withinDomain } = filter
  return select(
    db,
    and(
      isOf(filter),
      marker === undefined ? undefined : gt(table.id, marker),
      projectId === undefined ? undefined : isOwnedBy({ type: 'project', id: projectId }),
      domainId === undefined ? undefined : isOwnedBy({ type: 'domain', id: domainId }),
      withinDomain === undefined ? undefined : isWithin(db, withinDomain),
    ),
    limit,
  )
}

export async function findOwnLimit(db: Executor, id: string): Promise<OwnLimit | undefined> {
  return (await select(db, eq(table.id, id), 1))[0]
}

/** False when the owner has a limit for this registered limit already. */
export async function insertOwnLimit(
  tx: Tx,
  registeredId: string,
  { id, owner, resourceLimit, description }: OwnLimit,
): Promise<boolean> {
  const [result] = await tx.orm.insert(table).ignore().values({
    id,
    registeredId,
    ownerType: owner.type,
    ownerId: owner.id,
    resourceLimit,
    description,
  })
  return result.affectedRows === 1
}

export async function updateOwnLimit(
  db: Executor,
  id: string,
  change: Partial<Pick<OwnLimit, 'resourceLimit' | 'description'>>,
): Promise<void> {
  if (Object.keys(change).length === 0) return
  await db.orm.update(table).set(change).where(eq(table.id, id))
}

/** False when there was none. */
export async function deleteOwnLimit(db: Executor, id: string): Promise<boolean> {
  const [result] = await db.orm.delete(table).where(eq(table.id, id))
  return result.affectedRows === 1
}

/** Afterwards none of these has limits of its own. */
export async function deleteLimitsOf(
  tx: Tx,
  type: LimitOwner['type'],
  ids: readonly string[],
): Promise<void> {
  await tx.orm.delete(table).where(and(eq(table.ownerType, type), inArray(table.ownerId, [...ids])))
}

function isOwnedBy({ type, id }: LimitOwner): SQL | undefined {
  return and(eq(table.ownerType, type), eq(table.ownerId, id))
}

function isWithin(db: Executor, domainId: string): SQL | undefined {
  const inDomain = db.orm
    .select({ id: projects.id })
    .from(projects)
    .where(eq(projects.domainId, domainId))
  return or(
    isOwnedBy({ type: 'domain', id: domainId }),
    and(eq(table.ownerType, 'project'), inArray(table.ownerId, inDomain)),
  )
}

async function select(
  db: Executor,
  where: SQL | undefined,
  limit: number,
): Promise<readonly OwnLimit[]> {
  const rows = await db.orm
    .select({ own: table, registered: registeredLimits })
    .from(table)
    .innerJoin(registeredLimits, eq(registeredLimits.id, table.registeredId))
    .where(where)
    .orderBy(asc(table.id))
    .limit(limit)
  return rows.map(({ own, registered }) => ({
    id: own.id,
    resource: resourceOf(registered),
    owner: { type: own.ownerType as LimitOwner['type'], id: own.ownerId },
    resourceLimit: own.resourceLimit,
    description: own.description,
  }))
}
