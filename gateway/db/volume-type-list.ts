import { and, eq, exists, or, type SQL, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder } from '#common/db/statement.ts'
import { Failure } from '#common/errors.ts'
import { after, orderOf, type SortColumn } from './keyset.ts'
import { volumeTypeAccess, volumeTypes } from './schema/block-storage.ts'
import { TYPE_COLUMNS, typeOf, type VolumeType } from './volume-types.ts'

export interface TypeFilters {
  /** True: public types and those given to `projectId`. False: those that are not public. Null: all. */
  readonly isPublic: boolean | null
  readonly projectId: string | null
  /** Only types with all of these extra specs. */
  readonly extraSpecs: Readonly<Record<string, string>>
}

const SORT_COLUMNS = {
  created_at: volumeTypes.createdAt,
  description: volumeTypes.description,
  id: volumeTypes.id,
  is_public: volumeTypes.isPublic,
  name: volumeTypes.name,
  updated_at: volumeTypes.updatedAt,
} as const
export type TypeSortKey = keyof typeof SORT_COLUMNS

export const TYPE_SORT_KEYS = Object.keys(SORT_COLUMNS) as readonly TypeSortKey[]

export interface TypePage {
  readonly sort: readonly { readonly key: TypeSortKey; readonly isDescending: boolean }[]
  /** The id of the type that the page starts after. */
  readonly marker: string | undefined
  readonly limit: number
  readonly offset: number
}

/** One page of types. Throws `invalid` when the marker is not a type. */
export async function listTypeRows(
  db: Executor,
  filters: TypeFilters,
  page: TypePage,
): Promise<readonly VolumeType[]> {
  const isDescending = page.sort.at(-1)?.isDescending ?? true
  const order: readonly SortColumn[] = [
    ...page.sort.map(({ key, ...direction }) => ({ column: SORT_COLUMNS[key], ...direction })),
    { column: volumeTypes.id, isDescending },
  ]
  const start =
    page.marker === undefined ? undefined : after(order, await markerValues(db, page, page.marker))
  const rows = await db.orm
    .select(TYPE_COLUMNS)
    .from(volumeTypes)
    .where(and(isVisible(filters), hasSpecs(filters), start))
    .orderBy(...orderOf(order))
    .limit(page.limit)
    .offset(page.offset)
  return rows.map(typeOf)
}

/** The types that a project may use. */
export async function typesOfProject(
  db: Executor,
  projectId: string,
): Promise<readonly VolumeType[]> {
  const rows = await db.orm
    .select(TYPE_COLUMNS)
    .from(volumeTypes)
    .where(isVisible({ isPublic: true, projectId }))
    .orderBy(volumeTypes.name)
  return rows.map(typeOf)
}

/** The ids of all types by their names. */
export async function typeIdsByName(db: Executor): Promise<ReadonlyMap<string, string>> {
  const { id, name } = volumeTypes
  const rows = await db.orm.select({ id, name }).from(volumeTypes).orderBy(name)
  return new Map(rows.map((row) => [row.name, row.id]))
}

async function markerValues(
  db: Executor,
  { sort }: TypePage,
  marker: string,
): Promise<readonly unknown[]> {
  const rows = await db.orm.select(SORT_COLUMNS).from(volumeTypes).where(eq(volumeTypes.id, marker))
  const row = rows[0]
  if (row === undefined) throw new Failure('invalid', `marker [${marker}] not found`)
  return [...sort.map(({ key }) => row[key]), marker]
}

function isVisible({
  isPublic,
  projectId,
}: Pick<TypeFilters, 'isPublic' | 'projectId'>): SQL | undefined {
  if (isPublic === null) return undefined
  if (!isPublic || projectId === null) return eq(volumeTypes.isPublic, isPublic)
  const given = builder
    .select({ one: sql`1` })
    .from(volumeTypeAccess)
    .where(
      and(eq(volumeTypeAccess.typeId, volumeTypes.id), eq(volumeTypeAccess.projectId, projectId)),
    )
  return or(eq(volumeTypes.isPublic, true), exists(given))
}

function hasSpecs({ extraSpecs }: TypeFilters): SQL | undefined {
  if (Object.keys(extraSpecs).length === 0) return undefined
  return sql`json_contains(${volumeTypes.extraSpecs}, ${JSON.stringify(extraSpecs)})`
}
