import { Failure, isFailure } from '#common/errors.ts'
import type { VolumeSnapshotId } from '#common/ids.ts'
import type { VolumeRef } from '../../volumes.ts'
import type { NestedHost } from '../host.ts'
import {
  type CloudSnapshot,
  type CloudVolume,
  isInStore,
  listAll,
  showOne,
  snapshotsOf,
  untilRest,
  volumesOf,
  workFailure,
} from './cloud-volume.ts'
import { typeOfStore } from './stores.ts'

/** Afterwards nothing of the volume is left, also of one that was not made whole. */
export async function destroyVolume(
  host: NestedHost,
  { store, id }: VolumeRef,
  signal: AbortSignal,
): Promise<void> {
  const all = await volumesOf(host, id, signal)
  // A type that is gone below has no volumes; what was made in another store is not this one.
  const found = all.filter((volume) => isInStore(volume, store))
  if (found.length === 0) await typeOfStore(host, store, signal)
  for (const volume of found) {
    if (volume.attachments.length > 0)
      throw new Failure('conflict', `A server of the nested cloud has volume ${id}.`)
    const snapshots = await listAll(host.cloud, 'snapshots', { volume_id: volume.id }, signal)
    if (snapshots.length > 0) throw new Failure('conflict', `Volume ${id} has snapshots.`)
    await removeVolume(host, volume, signal)
  }
  if (found.length === 0) await host.pendingCreates.refusePending(id, 'volume')
  await host.pendingCreates.forget(id)
}

/** Afterwards the snapshot is gone. */
export async function destroySnapshot(
  host: NestedHost,
  id: VolumeSnapshotId,
  signal: AbortSignal,
): Promise<void> {
  const found = await snapshotsOf(host, id, signal)
  for (const snapshot of found) await removeSnapshot(host, snapshot, signal)
  if (found.length === 0) await host.pendingCreates.refusePending(id, 'snapshot')
  await host.pendingCreates.forget(id)
}

/** Afterwards the cloud itself says that there is no such volume. Throws `conflict` for one that it does not let go. */
export function removeVolume(
  host: NestedHost,
  volume: CloudVolume,
  signal: AbortSignal,
): Promise<void> {
  return remove(host, 'volumes', volume, signal)
}

/** The same of a snapshot. */
export function removeSnapshot(
  host: NestedHost,
  snapshot: CloudSnapshot,
  signal: AbortSignal,
): Promise<void> {
  return remove(host, 'snapshots', snapshot, signal)
}

async function remove<K extends 'volumes' | 'snapshots'>(
  host: NestedHost,
  kind: K,
  before: K extends 'volumes' ? CloudVolume : CloudSnapshot,
  signal: AbortSignal,
): Promise<void> {
  const what = kind === 'volumes' ? 'volume' : 'snapshot'
  const rested = await untilRest(host, kind, before as never, signal)
  if (rested === undefined) return
  try {
    await host.cloud.call('volume', 'DELETE', `/${kind}/${before.id}`, { signal })
  } catch (error) {
    if (isFailure(error, 'not-found')) return
    // Cinder says so of one whose status forbids it.
    if (!isFailure(error, 'invalid')) throw error
    throw new Failure('conflict', `The nested cloud does not remove the ${what} now.`, {
      cause: error,
      ...(error.detail !== undefined && { detail: error.detail }),
    })
  }
  const shown = await showOne(host.cloud, kind, before.id, signal)
  const left = shown && (await untilRest(host, kind, shown as never, signal))
  if (left !== undefined) throw await workFailure(host, `remove the ${what}`, left, signal)
}
