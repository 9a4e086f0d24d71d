import { and, eq, inArray, ne, or, type SQL, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { ImageMemberStatus } from '#common/states/image-states.ts'
import type { Image } from './image.ts'
import { imagesOfRows } from './images.ts'
import { after, orderOf, pageInSlices, type SortColumn } from './keyset.ts'
import { isPartOfMove } from './parts-of-moves.ts'
import { imageMembers, images, imageTags } from './schema/image.ts'

export const IMAGE_SORT_KEYS = [
  'name',
  'status',
  'container_format',
  'disk_format',
  'size',
  'id',
  'created_at',
  'updated_at',
] as const
export type ImageSortKey = (typeof IMAGE_SORT_KEYS)[number]

export type Comparison = 'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte'

/** One condition of a list request; all of them must hold. */
export type ImageFilter =
  | {
      readonly field:
        | 'id'
        | 'name'
        | 'status'
        | 'visibility'
        | 'owner'
        | 'disk_format'
        | 'container_format'
        | 'checksum'
        | 'os_hash_value'
      readonly anyOf: readonly string[]
    }
  | {
      readonly field: 'size' | 'min_disk' | 'min_ram'
      readonly compare: Comparison
      readonly than: number
    }
  | {
      readonly field: 'created_at' | 'updated_at'
      readonly compare: Comparison
      readonly than: Date
    }
  | { readonly field: 'protected' | 'os_hidden'; readonly is: boolean }
  | { readonly field: 'tag'; readonly has: string }
  | { readonly field: 'property'; readonly name: string; readonly value: string }

/** Whose eyes: a project sees its own, public, shared and (only when it asks for them) community images. */
export interface ImageViewer {
  /** Null for one who belongs to no project. */
  readonly projectId: string | null
  readonly seesAll: boolean
  readonly wantsCommunity: boolean
  /** Images of others shared with the project show when it has them in this state. */
  readonly memberStatus: ImageMemberStatus | 'all'
}

export interface ImagePage {
  readonly filters: readonly ImageFilter[]
  readonly sort: readonly { readonly key: ImageSortKey; readonly direction: 'asc' | 'desc' }[]
  readonly limit: number
  /** Id of the last image of the page before. */
  readonly marker: string | undefined
}

/** A page of the images the viewer may see. Throws `invalid` for a marker that names none of them. */
export async function listImages(
  db: Executor,
  viewer: ImageViewer,
  page: ImagePage,
): Promise<readonly Image[]> {
  const keys = sortKeys(page.sort)
  const visible = visibleTo(viewer)
  return pageInSlices(page, async ({ limit, marker }) => {
    const conditions = [visible, ...page.filters.map(conditionOf)]
    if (marker !== undefined)
      conditions.push(after(keys, await markerValues(db, marker, visible, keys)))
    const rows = await db.orm
      .select()
      .from(images)
      .where(and(...conditions))
      .orderBy(...orderOf(keys))
      .limit(limit)
    return imagesOfRows(db, rows)
  })
}

function visibleTo(viewer: ImageViewer): SQL | undefined {
  return and(sql`not ${isPartOfMove}`, permittedTo(viewer))
}

function permittedTo(viewer: ImageViewer): SQL | undefined {
  const own = viewer.projectId === null ? undefined : eq(images.owner, viewer.projectId)
  const community = viewer.wantsCommunity ? eq(images.visibility, 'community') : undefined
  if (!viewer.seesAll)
    return or(own, eq(images.visibility, 'public'), sharedWith(viewer), community)
  return viewer.wantsCommunity ? undefined : or(own, ne(images.visibility, 'community'))
}

function sharedWith({ projectId, memberStatus }: ImageViewer): SQL | undefined {
  if (projectId === null) return undefined
  const inState = memberStatus === 'all' ? sql`true` : sql`${imageMembers.status} = ${memberStatus}`
  return sql`(${images.visibility} = 'shared' AND EXISTS (SELECT 1 FROM ${imageMembers}
    WHERE ${imageMembers.imageId} = ${images.id} AND ${imageMembers.member} = ${projectId} AND ${inState}))`
}

const TEXT_COLUMNS = {
  id: images.id,
  name: images.name,
  status: images.status,
  visibility: images.visibility,
  owner: images.owner,
  disk_format: images.diskFormat,
  container_format: images.containerFormat,
  checksum: images.md5,
  os_hash_value: images.sha512,
} as const

const ORDERED_COLUMNS = {
  size: images.sizeBytes,
  min_disk: images.minDiskGb,
  min_ram: images.minRamMb,
  created_at: images.createdAt,
  updated_at: images.updatedAt,
} as const

const OPERATORS: Readonly<Record<Comparison, SQL>> = {
  eq: sql`=`,
  neq: sql`<>`,
  gt: sql`>`,
  gte: sql`>=`,
  lt: sql`<`,
  lte: sql`<=`,
}

function conditionOf(filter: ImageFilter): SQL | undefined {
  switch (filter.field) {
    case 'tag':
      return sql`EXISTS (SELECT 1 FROM ${imageTags} WHERE ${imageTags.imageId} = ${images.id} AND ${imageTags.tag} = ${filter.has})`
    case 'property':
      return sql`JSON_CONTAINS(${images.properties}, JSON_OBJECT(${filter.name}, ${filter.value}))`
    case 'protected':
      return eq(images.isProtected, filter.is)
    case 'os_hidden':
      return eq(images.isHidden, filter.is)
    case 'size':
    case 'min_disk':
    case 'min_ram':
    case 'created_at':
    case 'updated_at':
      return sql`${ORDERED_COLUMNS[filter.field]} ${OPERATORS[filter.compare]} ${filter.than}`
    case 'id':
    case 'name':
    case 'status':
    case 'visibility':
    case 'owner':
    case 'disk_format':
    case 'container_format':
    case 'checksum':
    case 'os_hash_value':
      return inArray(TEXT_COLUMNS[filter.field], [...filter.anyOf])
  }
}

const SORT_COLUMNS = {
  name: images.name,
  status: images.status,
  container_format: images.containerFormat,
  disk_format: images.diskFormat,
  size: images.sizeBytes,
  id: images.id,
  created_at: images.createdAt,
  updated_at: images.updatedAt,
} as const

/** As asked, then by creation and id in the first key's direction, as Glance completes an order. */
function sortKeys(asked: ImagePage['sort']): readonly SortColumn[] {
  const direction = asked[0]?.direction ?? 'desc'
  const names = new Set(asked.map(({ key }) => key))
  const completion = (['created_at', 'id'] as const)
    .filter((key) => !names.has(key))
    .map((key) => ({ key, direction }))
  return [...asked, ...completion].map(({ key, direction }) => ({
    column: SORT_COLUMNS[key],
    isDescending: direction === 'desc',
  }))
}

async function markerValues(
  db: Executor,
  marker: string,
  visible: SQL | undefined,
  keys: readonly SortColumn[],
): Promise<readonly unknown[]> {
  const columns = Object.fromEntries(keys.map(({ column }, i) => [`k${i}`, sql`${column}`]))
  const [row] = await db.orm
    .select(columns)
    .from(images)
    .where(and(eq(images.id, marker), visible))
  if (row === undefined) throw new Failure('invalid', `Invalid marker: no image ${marker}.`)
  return keys.map((_, i) => row[`k${i}`])
}
