import { metadataFilter, type SortQuery, sortOf } from './list-query.ts'
import type { VolumeQuery } from './volumes.ts'

/** The parameters of a list, as Cinder names them. */
export interface VolumeListQuery extends SortQuery {
  readonly marker?: string
  readonly all_tenants?: boolean
  readonly project_id?: string
  readonly name?: string
  readonly status?: string
  readonly bootable?: string
  readonly availability_zone?: string
  readonly metadata?: string
}

/** The attributes by which volumes can be sorted. */
const SORT_KEYS = [
  'availability_zone',
  'bootable',
  'created_at',
  'id',
  'name',
  'size',
  'status',
  'updated_at',
] as const

/** What a list asks for; the newest volumes come first. Throws `invalid` for an order or metadata that cannot be read. */
export function volumeQuery(query: VolumeListQuery, limit: number): VolumeQuery {
  const { marker, all_tenants: allTenants = false } = query
  return {
    allTenants,
    limit,
    marker,
    isReversed: false,
    sort: sortOf(query, SORT_KEYS).map(({ key, isDescending }) => {
      return { attribute: key, direction: isDescending ? 'desc' : 'asc' }
    }),
    filters: filtersOf(query),
  }
}

function filtersOf(query: VolumeListQuery): VolumeQuery['filters'] {
  const { project_id, name, status, availability_zone, bootable, metadata } = query
  const texts = Object.entries({ project_id, name, status, availability_zone })
  const equal = texts.flatMap(([attribute, value]) =>
    value === undefined ? [] : [{ attribute, anyOf: [value] }],
  )
  return [
    ...equal,
    ...(bootable === undefined
      ? []
      : [{ attribute: 'bootable', anyOf: [/^(true|1)$/i.test(bootable)] }]),
    ...metadataFilter(metadata),
  ]
}
