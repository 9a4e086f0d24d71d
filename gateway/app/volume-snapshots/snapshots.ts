import { Failure } from '#common/errors.ts'
import type { ResourcePage } from '../../db/resource-page.ts'
import {
  countSnapshotRows,
  editSnapshot,
  findSnapshot,
  listSnapshotRows,
  type SnapshotEdit,
} from '../../db/volume-snapshots.ts'
import type { ComputeDeps } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { retryStale } from '../retry-stale.ts'
import { metadataFilter, type SortQuery, sortOf } from '../volumes/list-query.ts'
import type { VolumeSnapshot } from './volume-snapshot.ts'

type Sight = Pick<RequestContext, 'projectId' | 'isAdmin'>

/** The snapshot. Throws `not-found` when there is none that the requester may see. */
export async function showSnapshot(
  { db }: Pick<ComputeDeps, 'db'>,
  { projectId, isAdmin }: Sight,
  id: string,
): Promise<VolumeSnapshot> {
  const snapshot = await findSnapshot(db, id.toLowerCase())
  if (snapshot !== undefined && (isAdmin || snapshot.projectId === projectId)) return snapshot
  throw snapshotNotFound(id)
}

export function snapshotNotFound(id: string): Failure {
  return new Failure('not-found', `Snapshot ${id} could not be found.`)
}

/** The parameters of a list, as Cinder names them. */
export interface SnapshotListQuery extends SortQuery {
  readonly marker?: string
  readonly all_tenants?: boolean
  readonly project_id?: string
  readonly name?: string
  readonly status?: string
  readonly volume_id?: string
  readonly metadata?: string
}

/** Which snapshots a list is about. */
export interface SnapshotQuery extends ResourcePage {
  /** Those of every project; only administrators get them. */
  readonly allTenants: boolean
}

/** The attributes by which snapshots can be sorted. */
const SORT_KEYS = ['created_at', 'id', 'name', 'status', 'updated_at', 'volume_id'] as const

/** What a list asks for; the newest snapshots come first. Throws `invalid` for an order or metadata that cannot be read. */
export function snapshotQuery(query: SnapshotListQuery, limit: number): SnapshotQuery {
  const { marker, all_tenants: allTenants = false, metadata } = query
  const { project_id, name, status, volume_id } = query
  const texts = Object.entries({ project_id, name, status, volume_id })
  const equal = texts.flatMap(([attribute, value]) =>
    value === undefined ? [] : [{ attribute, anyOf: [value] }],
  )
  return {
    allTenants,
    limit,
    marker,
    isReversed: false,
    sort: sortOf(query, SORT_KEYS).map(({ key, isDescending }) => {
      return { attribute: key, direction: isDescending ? 'desc' : 'asc' }
    }),
    filters: [...equal, ...metadataFilter(metadata)],
  }
}

/** A page of the snapshots of the requester's project, or of all projects. */
export function listSnapshots(
  { db }: Pick<ComputeDeps, 'db'>,
  context: Sight,
  { allTenants, ...page }: SnapshotQuery,
): Promise<readonly VolumeSnapshot[]> {
  return listSnapshotRows(db, ownerOf(context, allTenants), page)
}

/** How many snapshots a list is about. */
export function countSnapshots(
  { db }: Pick<ComputeDeps, 'db'>,
  context: Sight,
  { allTenants, filters }: Pick<SnapshotQuery, 'allTenants' | 'filters'>,
): Promise<number> {
  return countSnapshotRows(db, ownerOf(context, allTenants), filters)
}

function ownerOf({ projectId, isAdmin }: Sight, allTenants: boolean): string | null {
  return allTenants && isAdmin ? null : (projectId ?? '')
}

/** Afterwards the snapshot has the values that `edit` makes of it. Throws `not-found`. */
export function changeSnapshot(
  deps: Pick<ComputeDeps, 'db' | 'clock'>,
  context: Sight,
  id: string,
  edit: (snapshot: VolumeSnapshot) => SnapshotEdit,
): Promise<VolumeSnapshot> {
  return retryStale(deps.clock, async () => {
    const snapshot = await showSnapshot(deps, context, id)
    await editSnapshot(deps.db, snapshot, edit(snapshot))
    return showSnapshot(deps, context, snapshot.id)
  })
}
