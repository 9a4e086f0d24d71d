import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import type { ActNamed } from '#openapi/wire/act.ts'
import type { BuildVolume, InstanceBuild } from '#openapi/wire/instance.ts'
import { findVolume, updateSeenVolume } from '../../db/volumes.ts'
import type { Volume } from '../../volumes/volume.ts'
import { queueVolumeChange } from '../sagas/create-volume.ts'
import type { Acted } from './act-effects.ts'

/** The volume from which the server starts; undefined: it has a disk of its own. */
export function rootVolumeOf({
  volumes = [],
}: Pick<InstanceBuild, 'volumes'>): BuildVolume | undefined {
  return volumes.find(({ isRoot }) => isRoot === true)
}

type Rebuilt = Pick<Acted<ActNamed<'rebuild'>>, 'act' | 'deps' | 'sagaId' | 'work'>

/**
 * Afterwards nothing else is done with the volume that a rebuild gives the content of an image. Throws `invalid`, in Nova's
 * words, for one that something is done with; `conflict` for one that changes meanwhile.
 */
export async function beginReimage(tx: Tx, rebuilt: Rebuilt): Promise<void> {
  const root = reimaged(rebuilt)
  if (root === undefined) return
  const volume = await findVolume(tx, root.volumeId as VolumeId)
  if (volume?.attempt !== root.volumeAttempt || volume.state !== 'available')
    throw new Failure(
      'invalid',
      `Invalid volume: volume '${root.volumeId}' status must be 'in-use'. Currently in '${volume?.state ?? 'error'}' status`,
    )
  if (await write(tx, rebuilt, volume, { state: 'downloading', sagaId: rebuilt.sagaId })) return
  throw new Failure('conflict', `Volume ${volume.id} has just changed.`)
}

/**
 * Afterwards the volume is free for other work, if this rebuild still has it. It has the content of the image, or, with a
 * `fault`, that or its former one, or is given to no guest until a rebuild has made it whole.
 */
export async function endReimage(
  tx: Tx,
  rebuilt: Rebuilt,
  { fault }: Pick<Volume, 'fault'>,
): Promise<void> {
  const root = reimaged(rebuilt)
  if (root === undefined) return
  const volume = await findVolume(tx, root.volumeId as VolumeId)
  if (volume?.sagaId !== rebuilt.sagaId) return
  const made = fault === null && { imageId: rebuilt.act.build.image.id }
  await write(tx, rebuilt, volume, { state: 'available', sagaId: null, fault, ...made })
}

function reimaged({ act }: Pick<Rebuilt, 'act'>): BuildVolume | undefined {
  return act.reimages === true ? rootVolumeOf(act.build) : undefined
}

/** False where the volume has changed since it was read, and something else has it. */
async function write(
  tx: Tx,
  { deps, work }: Rebuilt,
  seen: Volume,
  change: Partial<Pick<Volume, 'state' | 'sagaId' | 'fault' | 'imageId'>>,
): Promise<boolean> {
  const to = { ...seen, ...change, version: seen.version + 1, updatedAt: deps.clock.now() }
  if (!(await updateSeenVolume(tx, seen, to))) return false
  queueVolumeChange(tx, deps, to, work)
  return true
}
