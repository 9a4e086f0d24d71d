import { Failure } from '#common/errors.ts'
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
import { type PageQuery, type ProjectsPage, pageOf } from '../volumes/list-query.ts'
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
export interface SnapshotListQuery extends PageQuery {
  readonly project_id?: string
  readonly name?: string
  readonly status?: string
  readonly volume_id?: string
}

/** The attributes by which snapshots can be sorted. */
const SORT_KEYS = ['created_at', 'id', 'name', 'status', 'updated_at', 'volume_id'] as const

/** What a list asks for. Throws as `pageOf`. */
export function snapshotQuery(query: SnapshotListQuery, limit: number): ProjectsPage {
  const { project_id, name, status, volume_id } = query
  return pageOf(query, {
    limit,
    sortKeys: SORT_KEYS,
    equal: { project_id, name, status, volume_id },
  })
}

/** A page of the snapshots of the requester's project, or of all projects. */
export function listSnapshots(
  { db }: Pick<ComputeDeps, 'db'>,
  context: Sight,
  { allTenants, ...page }: ProjectsPage,
): Promise<readonly VolumeSnapshot[]> {
  return listSnapshotRows(db, ownerOf(context, allTenants), page)
}

/** How many snapshots a list is about. */
export function countSnapshots(
  { db }: Pick<ComputeDeps, 'db'>,
  context: Sight,
  { allTenants, filters }: Pick<ProjectsPage, 'allTenants' | 'filters'>,
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
