import type { Compute } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { type PageQuery, type ProjectsPage, pageOf } from './list-query.ts'

/** The parameters of a list, as Cinder names them. */
export interface VolumeListQuery extends PageQuery {
  readonly project_id?: string
  readonly name?: string
  readonly status?: string
  readonly bootable?: string
  readonly size?: number
  readonly availability_zone?: string
  readonly encrypted?: boolean
  /** A cell, or a store of it as `CELL@STORE`; only administrators choose by it. */
  readonly host?: string
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
export function volumeQuery(
  { cells }: Pick<Compute, 'cells'>,
  { isAdmin }: Pick<RequestContext, 'isAdmin'>,
  query: VolumeListQuery,
  limit: number,
): ProjectsPage {
  const { project_id, name, status, size, availability_zone, bootable: isBootable } = query
  const { encrypted, host } = query
  const bootable = isBootable === undefined ? undefined : /^(true|1)$/i.test(isBootable)
  const place = isAdmin && host !== undefined ? placeOf(cells, host) : {}
  const equal = { project_id, name, status, size, availability_zone, bootable, encrypted, ...place }
  return pageOf(query, { limit, sortKeys: SORT_KEYS, equal })
}

/** Where the volumes of a host are: in the stores of the cell, or in the one that is named. */
function placeOf(cells: Compute['cells'], host: string) {
  const [name, ...store] = host.split('@')
  // No cell has an empty id.
  const cell_id = cells.cells().find((cell) => cell.name === name)?.id ?? ''
  return { cell_id, ...(store.length > 0 && { store_name: store.join('@') }) }
}
