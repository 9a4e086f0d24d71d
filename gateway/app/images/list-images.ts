import { Failure } from '#common/errors.ts'
import { IMAGE_MEMBER_STATUSES } from '#common/states/image-states.ts'
import type { Image } from '../../db/image.ts'
import {
  IMAGE_SORT_KEYS,
  type ImagePage,
  type ImageViewer,
  listImages as readImages,
} from '../../db/image-list.ts'
import type { Requester } from '../requester.ts'
import type { Images } from './images.ts'
import { filtersOf, type ListQuery } from './list-filters.ts'

const LIMIT_DEFAULT = 25
const LIMIT_MAX = 1_000

export interface ImageList {
  readonly images: readonly Image[]
  /** Id of the last image when there may be more. */
  readonly nextMarker: string | undefined
}

/** A page of the images the requester may see. Throws `invalid` for a filter, sort key or marker that is none. */
export async function listImages(
  images: Images,
  requester: Requester,
  query: ListQuery,
): Promise<ImageList> {
  const asked = last(query, 'visibility')
  const viewer = {
    projectId: requester.projectId,
    seesAll: requester.isAdmin,
    wantsCommunity: asked === 'community' || asked === 'all',
    memberStatus: memberStatusOf(last(query, 'member_status')),
  }
  const page: ImagePage = {
    filters: filtersOf(query),
    sort: sortOf(query),
    limit: limitOf(last(query, 'limit')),
    marker: last(query, 'marker'),
  }
  if (page.limit === 0) return { images: [], nextMarker: undefined }
  const found = await readImages(images.db, viewer, page)
  const isFull = found.length === page.limit
  return { images: found, nextMarker: isFull ? found.at(-1)?.id : undefined }
}

function memberStatusOf(text: string | undefined): ImageViewer['memberStatus'] {
  if (text === undefined) return 'accepted'
  const hit = ([...IMAGE_MEMBER_STATUSES, 'all'] as const).find((status) => status === text)
  if (hit !== undefined) return hit
  throw new Failure(
    'invalid',
    `Invalid status '${text}': member_status must be one of ${IMAGE_MEMBER_STATUSES.join(', ')}, all.`,
  )
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return LIMIT_DEFAULT
  if (!/^\d{1,9}$/.test(text)) throw new Failure('invalid', 'limit must be an integer from 0.')
  return Math.min(Number(text), LIMIT_MAX)
}

/** `sort=name:asc,size` or the older `sort_key`/`sort_dir` pairs, not both. */
function sortOf(query: ListQuery): ImagePage['sort'] {
  const sort = last(query, 'sort')
  const keys = all(query, 'sort_key')
  const directions = all(query, 'sort_dir')
  if (sort === undefined) return pairsOf(keys, directions)
  if (keys.length > 0 || directions.length > 0)
    throw new Failure('invalid', "sort cannot be used together with 'sort_key' or 'sort_dir'.")
  const pairs = sort.split(',').map((part) => part.trim().split(':'))
  return pairs.map(([key, direction]) => ({ key: keyOf(key), direction: directionOf(direction) }))
}

function pairsOf(keys: readonly string[], directions: readonly string[]): ImagePage['sort'] {
  const names = keys.length === 0 ? ['created_at'] : keys
  if (directions.length > 1 && directions.length !== names.length)
    throw new Failure('invalid', 'There must be one sort_dir, or one for each sort_key.')
  return names.map((key, i) => ({
    key: keyOf(key),
    direction: directionOf(directions[i] ?? directions[0]),
  }))
}

function keyOf(name: string | undefined): ImagePage['sort'][number]['key'] {
  const hit = IMAGE_SORT_KEYS.find((key) => key === name)
  if (hit !== undefined) return hit
  throw new Failure('invalid', `Invalid sort key '${name}': use ${IMAGE_SORT_KEYS.join(', ')}.`)
}

function directionOf(name: string | undefined): 'asc' | 'desc' {
  if (name === undefined || name === '') return 'desc'
  if (name === 'asc' || name === 'desc') return name
  throw new Failure('invalid', `Invalid sort direction '${name}': use asc or desc.`)
}

function all(query: ListQuery, name: string): readonly string[] {
  return query.filter(([key]) => key === name).map(([, value]) => value)
}

function last(query: ListQuery, name: string): string | undefined {
  return all(query, name).at(-1)
}
