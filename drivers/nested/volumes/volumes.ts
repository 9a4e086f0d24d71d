import { Failure, isFailure } from '#common/errors.ts'
import type { VolumeSnapshotId } from '#common/ids.ts'
import type { VolumeRef, VolumeReport, Volumes } from '../../volumes.ts'
import type { NestedHost } from '../host.ts'
import { volumeName } from '../names.ts'
import { attachVolume, detachVolume } from './attach.ts'
import {
  actOnVolume,
  type CloudSnapshot,
  GIB,
  getSnapshot,
  getVolume,
  isBusy,
  isInStore,
  isOurs,
  isWhole,
  listAll,
  ourId,
  ShownSnapshot,
  snapshotMarks,
  snapshotsOf,
  untilRest,
  workFailure,
} from './cloud-volume.ts'
import { createVolume, growVolume } from './create-volume.ts'
import { exportVolume } from './export-volume.ts'
import { reimageVolume } from './reimage-volume.ts'
import { destroySnapshot, destroyVolume, removeSnapshot } from './remove.ts'
import { stores, typeOfStore } from './stores.ts'

/** Volumes of the project below, of which those of one volume type are a store. */
export function nestedVolumes(host: NestedHost): Volumes {
  const locked = <T>({ id }: VolumeRef, signal: AbortSignal, work: () => Promise<T>): Promise<T> =>
    host.volumeLocks.run(id, signal, work)
  return {
    stores: (signal) => stores(host, signal),
    create: (spec, signal) => locked(spec, signal, () => createVolume(host, spec, signal)),
    destroy: (volume, signal) => locked(volume, signal, () => destroyVolume(host, volume, signal)),
    list: (store, signal) => list(host, store, signal),
    extend: (volume, bytes, signal) =>
      locked(volume, signal, async () =>
        growVolume(host, await getVolume(host, volume, signal), bytes, signal),
      ),
    snapshot: (volume, snapshot, signal) =>
      locked(volume, signal, () => makeSnapshot(host, volume, snapshot, signal)),
    export: (volume, format, signal) =>
      locked(volume, signal, () => exportVolume(host, volume, format, signal)),
    revert: (volume, snapshot, signal) =>
      locked(volume, signal, () => revert(host, volume, snapshot, signal)),
    reimage: (volume, image, signal) =>
      locked(volume, signal, () => reimageVolume(host, volume, image, signal)),
    destroySnapshot: (volume, snapshot, signal) =>
      locked(volume, signal, () => destroySnapshot(host, snapshot, signal)),
    attach: (id, attachment, signal) => attachVolume(host, id, attachment, signal),
    detach: (id, attachment, signal) => detachVolume(host, id, attachment, signal),
  }
}

async function list(
  host: NestedHost,
  store: string,
  signal: AbortSignal,
): Promise<readonly VolumeReport[]> {
  await typeOfStore(host, store, signal)
  const [volumes, snapshots] = await Promise.all([
    listAll(host.cloud, 'volumes', {}, signal),
    listAll(host.cloud, 'snapshots', {}, signal),
  ])
  const kept = Map.groupBy(
    snapshots.filter((each) => isOurs(host, each) && each.status === 'available'),
    ({ volume_id }) => volume_id,
  )
  return volumes
    .filter((each) => isOurs(host, each) && isInStore(each, store) && isWhole(each))
    .flatMap((volume) => {
      const id = ourId<VolumeReport['id']>(volume)
      if (id === undefined) return []
      const ids = (kept.get(volume.id) ?? []).flatMap((each) => ourId<VolumeSnapshotId>(each) ?? [])
      return [{ id, bytes: volume.size * GIB, snapshots: ids }]
    })
}

async function makeSnapshot(
  host: NestedHost,
  ref: VolumeRef,
  id: VolumeSnapshotId,
  signal: AbortSignal,
): Promise<void> {
  const volume = await getVolume(host, ref, signal)
  const found = await snapshotsOf(host, id, signal)
  const kept = found.find((each) => isBusy(each) || each.status === 'available')
  for (const other of found) if (other !== kept) await removeSnapshot(host, other, signal)
  const asked = kept ?? (await requestSnapshot(host, volume.id, id, signal))
  await host.pendingCreates.forget(id)
  const made = await untilRest(host, 'snapshots', asked, signal)
  if (made?.status === 'available') return
  if (made === undefined)
    throw new Failure('internal', 'The nested cloud has removed the snapshot while it was made.')
  const failure = await workFailure(host, 'make the snapshot', made, signal)
  await removeSnapshot(host, made, signal)
  throw failure
}

function requestSnapshot(
  host: NestedHost,
  volumeId: string,
  id: VolumeSnapshotId,
  signal: AbortSignal,
): Promise<CloudSnapshot> {
  // Needed of a volume in use by clouds older than 3.66.
  const snapshot = {
    ...{ volume_id: volumeId, name: volumeName(id), force: true },
    metadata: snapshotMarks(host, id),
  }
  return host.pendingCreates.send(id, 'snapshot', signal, async (key) => {
    const asked = { body: { snapshot }, headers: { 'idempotency-key': key }, signal, isUncut: true }
    const { body } = await host.cloud.ask(ShownSnapshot, 'volume', 'POST', '/snapshots', asked)
    return body.snapshot
  })
}

/** Volumes go back to a snapshot since then. */
const REVERT_SINCE = '3.40'

async function revert(
  host: NestedHost,
  ref: VolumeRef,
  id: VolumeSnapshotId,
  signal: AbortSignal,
): Promise<void> {
  const volume = await getVolume(host, ref, signal)
  if (volume.attachments.length > 0)
    throw new Failure('conflict', `A server of the nested cloud has volume ${ref.id}.`)
  const snapshot = await getSnapshot(host, volume, id, signal)
  const body = { revert: { snapshot_id: snapshot.id } }
  const asked = { microversion: REVERT_SINCE, signal }
  const after = await actOnVolume(host, volume, body, asked).catch((error: unknown) => {
    if (!isFailure(error, 'unsupported', 'invalid')) throw error
    const { kind, detail } = error
    throw new Failure(kind, 'The nested cloud does not bring the volume back to the snapshot.', {
      cause: error,
      ...(detail !== undefined && { detail }),
    })
  })
  if (after.status !== 'available')
    throw await workFailure(host, 'revert the volume', after, signal)
}
