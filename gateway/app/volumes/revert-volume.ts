import { Failure, isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { snapshotsOfVolume } from '../../db/volume-snapshots.ts'
import type { Compute } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { revertVolumeSaga } from '../sagas/revert-volume.ts'
import { showSnapshot } from '../volume-snapshots/snapshots.ts'
import type { Volume } from './volume.ts'
import { refuseUnreachable, showVolume } from './volumes.ts'

/**
 * Afterwards the volume is being given the content of its newest snapshot, and keeps its size. Throws `not-found`; `invalid`
 * for another snapshot; `conflict` while a server uses the volume or anything else is done with it; `unavailable` while its
 * cell is unreachable.
 */
export async function revertVolume(
  compute: Compute,
  context: RequestContext,
  id: string,
  ofSnapshot: string,
): Promise<void> {
  const volume = await showVolume(compute, context, id)
  const snapshot = await showSnapshot(compute, context, ofSnapshot)
  const all = await snapshotsOfVolume(compute.db, volume.id)
  const newest = all.toSorted((a, b) => Number(b.createdAt) - Number(a.createdAt))[0]
  if (newest?.id !== snapshot.id)
    throw new Failure(
      'invalid',
      `Specified snapshot ${snapshot.id} is not the latest one of volume ${volume.id}. Delete the later ones, or create a volume from the snapshot.`,
    )
  if (snapshot.status !== 'available')
    throw new Failure(
      'conflict',
      `Snapshot ${snapshot.id} status must be available, but is '${snapshot.status}'.`,
    )
  if (volume.status !== 'available') throw notRevertible(volume)
  refuseUnreachable(compute, volume)
  const params = { volumeId: volume.id, snapshotId: snapshot.id, operationId: newId<string>() }
  try {
    await compute.sagas.start(revertVolumeSaga, { subject: volume.id, params, work: context })
  } catch (error) {
    if (isFailure(error, 'conflict')) throw notRevertible(await showVolume(compute, context, id))
    throw error
  }
}

function notRevertible({ id, status }: Volume): Failure {
  return new Failure(
    'conflict',
    `Volume ${id} status must be available to revert it to a snapshot, but is '${status}'.`,
  )
}
