import { Failure } from '#common/errors.ts'
import { HOLDING } from '../../db/held-volumes.ts'
import { attachmentsOfVolumes, type VolumeAttachment } from '../../db/volume-attachments.ts'
import {
  listVolumes as listRows,
  metadataOfVolumes,
  sumVolumes as sumRows,
} from '../../db/volume-list.ts'
import { editVolume, findVolume, type VolumeEdit } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { retryStale } from '../retry-stale.ts'
import type { ProjectsPage } from './list-query.ts'
import type { ShownVolume, Volume } from './volume.ts'

/** The volume. Throws `not-found` when there is none that the requester may see. */
export async function showVolume(
  { db }: Pick<ComputeDeps, 'db'>,
  { projectId, isAdmin }: Pick<RequestContext, 'projectId' | 'isAdmin'>,
  id: string,
): Promise<Volume> {
  const volume = await findVolume(db, id.toLowerCase())
  if (volume !== undefined && (isAdmin || volume.projectId === projectId)) return volume
  throw new Failure('not-found', `Volume ${id} could not be found.`)
}

/** A page of the volumes of the requester's project, or of all projects. */
export function listVolumes(
  { db }: Pick<ComputeDeps, 'db'>,
  context: Pick<RequestContext, 'projectId' | 'isAdmin'>,
  { allTenants, ...page }: ProjectsPage,
): Promise<readonly ShownVolume[]> {
  return listRows(db, ownerOf(context, allTenants), page)
}

/** How many volumes a list is about, and their GiB. */
export function sumVolumes(
  { db }: Pick<ComputeDeps, 'db'>,
  context: Pick<RequestContext, 'projectId' | 'isAdmin'>,
  { allTenants, filters }: Pick<ProjectsPage, 'allTenants' | 'filters'>,
): Promise<{ readonly volumes: number; readonly sizeGb: number }> {
  return sumRows(db, ownerOf(context, allTenants), filters)
}

/** Every metadata key of the volumes of the requester's project, or of all projects, with its values. */
export async function volumeMetadata(
  { db }: Pick<ComputeDeps, 'db'>,
  context: Pick<RequestContext, 'projectId' | 'isAdmin'>,
  allTenants: boolean,
): Promise<Readonly<Record<string, string[]>>> {
  const all = await metadataOfVolumes(db, ownerOf(context, allTenants))
  const values = Map.groupBy(all.flatMap(Object.entries<string>), ([key]) => key)
  return Object.fromEntries(
    [...values].map(([key, pairs]) => [key, [...new Set(pairs.map(([, value]) => value))]]),
  )
}

/** The attachments of some volumes, by volume. Most volumes that are shown have none, which their status tells. */
export async function attachmentsByVolume(
  { db }: Pick<ComputeDeps, 'db'>,
  volumes: readonly Pick<Volume, 'id' | 'status'>[],
): Promise<ReadonlyMap<string, readonly VolumeAttachment[]>> {
  const held = volumes.filter(({ status }) => status !== 'available' && HOLDING.has(status))
  const attachments = await attachmentsOfVolumes(
    db,
    held.map(({ id }) => id),
  )
  return Map.groupBy(attachments, ({ volumeId }) => volumeId)
}

/** Throws `unavailable` while the cell that has the volume, if one does, is unreachable: asking it would only wait. */
export function refuseUnreachable(
  { cells }: Pick<ComputeDeps, 'cells'>,
  { cellId }: Pick<Volume, 'cellId'>,
): void {
  const cell = cellId === null ? undefined : cells.cell(cellId)
  if (cell?.isReachable === false)
    throw new Failure('unavailable', `Cell ${cell.name} cannot be reached. Try again later.`)
}

function ownerOf(
  { projectId, isAdmin }: Pick<RequestContext, 'projectId' | 'isAdmin'>,
  allTenants: boolean,
): string | null {
  return allTenants && isAdmin ? null : (projectId ?? '')
}

/** Afterwards the volume has the values that `edit` makes of it. Throws `not-found`, `invalid` while it is deleted. */
export function changeVolume(
  deps: Pick<ComputeDeps, 'db' | 'clock'>,
  context: RequestContext,
  id: string,
  edit: (volume: Volume) => VolumeEdit,
): Promise<Volume> {
  return retryStale(deps.clock, async () => {
    const volume = await showVolume(deps, context, id)
    await editVolume(deps.db, volume, edit(volume))
    return showVolume(deps, context, volume.id)
  })
}
