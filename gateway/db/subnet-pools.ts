import { and, eq, or, type SQL } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import { describedCollection } from './described-collection.ts'
import type { Described } from './network.ts'
import { type ResourcePage, readPage } from './resource-page.ts'
import { subnetPools, subnets } from './schema/network.ts'
import { StaleRevision } from './stale-revision.ts'

/** Prefixes that subnets are taken from, so that they do not overlap. */
export interface SubnetPool extends Described {
  readonly ipVersion: 4 | 6
  /** Ascending, none within another. */
  readonly prefixes: readonly string[]
  // Lengths of the prefixes of its subnets.
  readonly defaultLength: number
  readonly minLength: number
  readonly maxLength: number
  /** How much a project may have of the pool: addresses of IPv4, prefixes of 64 bits of IPv6. Null: any. */
  readonly projectQuota: number | null
  readonly isShared: boolean
  readonly isDefault: boolean
}

/** What a subnet has of its pool. */
export interface PoolAllocation {
  readonly projectId: string
  readonly cidr: string
}

const POOLS = describedCollection(subnetPools, {
  attributes: {
    ip_version: subnetPools.ipVersion,
    default_prefixlen: subnetPools.defaultLength,
    min_prefixlen: subnetPools.minLength,
    max_prefixlen: subnetPools.maxLength,
    default_quota: subnetPools.projectQuota,
    shared: subnetPools.isShared,
    is_default: subnetPools.isDefault,
  },
})

/** A page of the pools that the project may use: its own and shared ones; null sees all. */
export function listSubnetPools(
  db: Executor,
  projectId: string | null,
  page: ResourcePage,
): Promise<readonly SubnetPool[]> {
  return readPage(db, POOLS, visibleTo(projectId), page, async ({ where, orderBy, limit }) => {
    const rows = await db.orm
      .select()
      .from(subnetPools)
      .where(where)
      .orderBy(...orderBy)
      .limit(limit)
    return rows.map(toPool)
  })
}

export async function findSubnetPool(db: Executor, id: string): Promise<SubnetPool | undefined> {
  const [row] = await db.orm.select().from(subnetPools).where(eq(subnetPools.id, id))
  return row === undefined ? undefined : toPool(row)
}

/** The pool of this version that is used where none is named. */
export async function defaultSubnetPool(
  db: Executor,
  ipVersion: 4 | 6,
): Promise<SubnetPool | undefined> {
  const [row] = await db.orm
    .select()
    .from(subnetPools)
    .where(and(eq(subnetPools.isDefault, true), eq(subnetPools.ipVersion, ipVersion)))
  return row === undefined ? undefined : toPool(row)
}

/** The pool, of which nothing else takes until the transaction ends; undefined when there is none. */
export async function lockSubnetPool(tx: Tx, id: string): Promise<SubnetPool | undefined> {
  await lockRows(tx, subnetPools, eq(subnetPools.id, id))
  const [row] = await tx.orm.select().from(subnetPools).where(eq(subnetPools.id, id))
  return row === undefined ? undefined : toPool(row)
}

/** The parts of the pool that its subnets have. */
export async function allocationsOf(db: Executor, id: string): Promise<readonly PoolAllocation[]> {
  const { projectId, cidr } = subnets
  return db.orm.select({ projectId, cidr }).from(subnets).where(eq(subnets.subnetPoolId, id))
}

/** Afterwards the pool exists; false, and it does not, when there is another default one of its version. */
export async function insertSubnetPool(tx: Tx, pool: SubnetPool): Promise<boolean> {
  return isOnlyDefault(() => tx.orm.insert(subnetPools).values(columnsOf(pool)))
}

/**
 * Afterwards the pool is as given; false, and it is not, when there is another default one of its version. Throws
 * `conflict` when it changed since this revision was read.
 */
export async function updateSubnetPool(tx: Tx, pool: SubnetPool, now: Date): Promise<boolean> {
  const { id, revision } = pool
  return isOnlyDefault(async () => {
    const [result] = await tx.orm
      .update(subnetPools)
      .set({ ...columnsOf(pool), updatedAt: now, revision: revision + 1 })
      .where(and(eq(subnetPools.id, id), eq(subnetPools.revision, revision)))
    if (result.affectedRows !== 1) throw new StaleRevision(`Subnet pool ${id}`)
  })
}

export async function deleteSubnetPoolRow(tx: Tx, id: string): Promise<void> {
  await tx.orm.delete(subnetPools).where(eq(subnetPools.id, id))
}

async function isOnlyDefault(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write()
    return true
  } catch (error) {
    if (isDuplicate(error, 'subnet_pools_by_default')) return false
    throw error
  }
}

function visibleTo(projectId: string | null): SQL | undefined {
  if (projectId === null) return undefined
  return or(eq(subnetPools.projectId, projectId), eq(subnetPools.isShared, true))
}

/** Null in place of false: the unique key allows one true and any number of nulls. */
function columnsOf(pool: SubnetPool): typeof subnetPools.$inferInsert {
  return { ...pool, isDefault: pool.isDefault ? true : null }
}

function toPool(row: typeof subnetPools.$inferSelect): SubnetPool {
  return { ...row, ipVersion: row.ipVersion === 6 ? 6 : 4, isDefault: row.isDefault === true }
}
