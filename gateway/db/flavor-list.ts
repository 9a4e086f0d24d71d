import { and, eq, exists, gte, like, or, type SQL, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder } from '#common/db/statement.ts'
import { Failure } from '#common/errors.ts'
import { FLAVOR_COLUMNS, type Flavor, flavorOf } from './flavors.ts'
import { after, orderOf, type SortColumn } from './keyset.ts'
import { flavorAccess, flavors } from './schema/resources.ts'

export interface FlavorFilters {
  /** True: public flavors and those given to `projectId`. False: those that are not public. Null: all. */
  readonly isPublic: boolean | null
  readonly projectId: string | null
  /** Leaves out disabled flavors. */
  readonly enabledOnly: boolean
  readonly minRamMb: number
  readonly minDiskGb: number
  /** As in LIKE, for a lower-cased name. */
  readonly nameLike: string | undefined
}

const SORT_COLUMNS = {
  created_at: sql`${flavors.createdAt}`,
  description: sql`${flavors.description}`,
  disabled: sql`${flavors.isDisabled}`,
  ephemeral_gb: sql`${flavors.ephemeralGb}`,
  flavorid: sql`${flavors.id}`,
  /** Nova's internal row number, which grows with the time of creation. */
  id: sql`${flavors.createdAt}`,
  is_public: sql`${flavors.isPublic}`,
  memory_mb: sql`${flavors.memoryMb}`,
  name: sql`${flavors.name}`,
  root_gb: sql`${flavors.rootGb}`,
  rxtx_factor: sql`${flavors.rxtxFactor}`,
  swap: sql`${flavors.swapMb}`,
  updated_at: sql`${flavors.updatedAt}`,
  /** Nothing sets it, so it orders nothing. */
  vcpu_weight: sql`0`,
  vcpus: sql`${flavors.vcpus}`,
} as const

export type FlavorSortKey = keyof typeof SORT_COLUMNS

export interface FlavorPageQuery {
  readonly sortKey: FlavorSortKey
  readonly isDescending: boolean
  /** The id of the flavor the page starts after. */
  readonly marker: string | undefined
  readonly limit: number
}

/** One page of flavors. Throws `invalid` when the marker is not a flavor. */
export async function listFlavorRows(
  db: Executor,
  filters: FlavorFilters,
  page: FlavorPageQuery,
): Promise<readonly Flavor[]> {
  const { isDescending } = page
  const order: readonly SortColumn[] = [
    { column: SORT_COLUMNS[page.sortKey], isDescending },
    { column: flavors.id, isDescending },
  ]
  const start =
    page.marker === undefined ? undefined : after(order, await markerValues(db, page, page.marker))
  const rows = await db.orm
    .select(FLAVOR_COLUMNS)
    .from(flavors)
    .where(and(isVisible(filters), ...sizes(filters), named(filters), start))
    .orderBy(...orderOf(order))
    .limit(page.limit)
  return rows.map(flavorOf)
}

async function markerValues(
  db: Executor,
  { sortKey }: FlavorPageQuery,
  marker: string,
): Promise<readonly unknown[]> {
  const key = SORT_COLUMNS[sortKey].as('sort_value')
  const rows = await db.orm.select({ key }).from(flavors).where(eq(flavors.id, marker))
  if (rows[0] === undefined) throw new Failure('invalid', `marker [${marker}] not found`)
  return [rows[0].key, marker]
}

function isVisible({ isPublic, projectId, enabledOnly }: FlavorFilters): SQL | undefined {
  const enabled = enabledOnly ? eq(flavors.isDisabled, false) : undefined
  if (isPublic === null) return enabled
  if (!isPublic || projectId === null) return and(eq(flavors.isPublic, isPublic), enabled)
  const given = builder
    .select({ one: sql`1` })
    .from(flavorAccess)
    .where(and(eq(flavorAccess.flavorId, flavors.id), eq(flavorAccess.projectId, projectId)))
  return and(or(eq(flavors.isPublic, true), exists(given)), enabled)
}

function named({ nameLike }: FlavorFilters): SQL | undefined {
  return nameLike === undefined ? undefined : like(sql`lower(${flavors.name})`, nameLike)
}

function sizes({ minRamMb, minDiskGb }: FlavorFilters): readonly SQL[] {
  return [gte(flavors.memoryMb, minRamMb), gte(flavors.rootGb, minDiskGb)]
}
