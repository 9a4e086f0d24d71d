import { type PageQuery, type ProjectsPage, pageOf } from './list-query.ts'

/** The parameters of a list, as Cinder names them. */
export interface VolumeListQuery extends PageQuery {
  readonly project_id?: string
  readonly name?: string
  readonly status?: string
  readonly bootable?: string
  readonly size?: number
  readonly availability_zone?: string
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

/** What a list asks for. Throws as `pageOf`. */
export function volumeQuery(query: VolumeListQuery, limit: number): ProjectsPage {
  const { project_id, name, status, size, availability_zone, bootable: isBootable } = query
  const bootable = isBootable === undefined ? undefined : /^(true|1)$/i.test(isBootable)
  const equal = { project_id, name, status, size, availability_zone, bootable }
  return pageOf(query, { limit, sortKeys: SORT_KEYS, equal })
}
