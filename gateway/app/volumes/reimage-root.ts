import type { Executor, Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { queueHeldStatus } from '../../db/held-volumes.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import { findVolume, lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { Reimage } from '../sagas/act-plan.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'
import type { Volume } from './volume.ts'

/**
 * The volume from which the server starts; undefined: it has a disk of its own. Throws `kind`, in Nova's words, where something
 * is done with one of the server's volumes.
 */
export async function idleRootVolume(
  db: Executor,
  { volumes }: Pick<ServerRecord, 'volumes'>,
  kind: 'invalid' | 'conflict',
): Promise<Volume | undefined> {
  let root: Volume | undefined
  for (const { id, isRoot } of volumes) {
    const volume = await findVolume(db, id)
    if (volume === undefined) continue
    refuseBusy(volume, kind)
    if (isRoot === true) root = volume
  }
  return root
}

function refuseBusy({ id, status }: Volume, kind: 'invalid' | 'conflict'): void {
  if (status === 'in-use') return
  throw new Failure(
    kind,
    `Invalid volume: volume '${id}' status must be 'in-use'. Currently in '${status}' status`,
  )
}

/**
 * Afterwards the volume is being given the content of an image, and nothing else is done with it until its cell says that this
 * is over. Throws `invalid` where something is, and `conflict`, in Cinder's words, where several servers have it.
 */
export async function beginReimage(
  tx: Tx,
  { volumeId, imageMetadata: nextImageMetadata }: Reimage,
): Promise<void> {
  const volume = await lockVolume(tx, volumeId)
  if (volume === undefined) throw new Failure('not-found', `Volume ${volumeId} could not be found.`)
  refuseBusy(volume, 'invalid')
  if ((await attachmentsOfVolumes(tx, [volumeId])).length > 1)
    throw new Failure(
      'conflict',
      'Cannot re-image a volume which is attached to more than one server.',
    )
  const change = { status: 'downloading', nextImageMetadata } as const
  await writeLockedVolume(tx, volumeId, change, { isIntent: true })
}

/** Afterwards the volume is as it was: its cell has refused. */
export async function withdrawReimage(tx: Tx, { volumeId }: Reimage): Promise<void> {
  const volume = await lockVolume(tx, volumeId)
  if (volume?.status !== 'downloading') return
  const change = { status: 'available', nextImageMetadata: null } as const
  await writeLockedVolume(tx, volumeId, change, { isIntent: false })
  queueHeldStatus(tx, volumeId)
}
