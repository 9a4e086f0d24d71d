import { Failure } from '#common/errors.ts'
import { isUuid, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { KeyedLock } from '../../../keyed-lock.ts'
import { copyOut, type DiskFile } from '../../../qemu-img.ts'
import type { LibvirtHost } from '../../host.ts'
import { tooLarge, type VolumeStore } from '../store.ts'
import { type Ask, EXIT, endedWith, rbd } from './rbd-client.ts'
import { makeVolume, qemuTarget, type RbdWork, resize } from './rbd-content.ts'
import {
  listVolumes,
  noVolume,
  rbdNames,
  removeSnapshot,
  snapshotNames,
  snapshotNow,
  specOf,
  volumeBytes,
} from './rbd-images.ts'
import { admitWriter, fenceWriters, refuseWriters } from './rbd-openers.ts'
import type { RbdStore } from './rbd-pools.ts'
import { removeVolume } from './rbd-remove.ts'

/** The size that a volume is to have after a revert that is under way. */
const REVERTING = 'weir_reverting'

/** Of all stores of this process: an image is brought into a pool once. */
const bringing = new KeyedLock<string>()

/** A store whose volumes are images in a pool of Ceph. Everything goes through Ceph's own programs, never libvirt's pool. */
export function rbdStore(host: LibvirtHost, store: RbdStore): VolumeStore {
  const { owner, images } = host
  const { hostId } = owner
  const names = rbdNames(owner)
  const client = store
  const work: RbdWork = { client, names, images, hostId, bringing }
  return {
    sourceOf: async (id) => ({ path: specOf(client, names.volume(id)), rbd: store.source }),
    sizeOf: (id, signal) => volumeBytes(client, names, id, { signal }),
    list: (signal) => listVolumes(client, names, { signal }),
    async snapshotsOf(id, signal) {
      const all = await snapshotNames(client, names.volume(id), { signal })
      return all.filter(isUuid) as VolumeSnapshotId[]
    },
    async refuseTooLarge(bytes) {
      if (bytes > store.totalBytes) throw tooLarge(store, bytes)
    },
    async refuseGrowth(_, bytes) {
      if (bytes > store.totalBytes) throw tooLarge(store, bytes)
    },
    make: async (spec, signal) => {
      // A clone has the header of what it was cloned from, and so its key.
      if (spec.encryption !== undefined)
        throw new Failure('unsupported', 'Volumes in pools of Ceph are not encrypted.')
      await makeVolume(work, spec, { signal })
    },
    remove: (id, signal) => removeVolume(client, names, id, { signal }),
    grow: (id, bytes, signal) => resize(client, names.volume(id), bytes, { signal }),
    snapshot: (id, snapshot, signal) => makeSnapshot(work, id, snapshot, { signal }),
    removeSnapshot: (id, snapshot, signal) =>
      removeSnapshot(client, names.volume(id), snapshot, { signal }),
    copyTo: (file, id, signal) => copyTo(work, file, id, { signal }),
    revert: (id, snapshot, signal) => revert(work, id, snapshot, { signal }),
    refuseOpen: (id, signal) => refuseWriters(client, names, { id, hostId }, { signal }),
    admit: (volume, signal) => admitWriter(client, names, { ...volume, hostId }, { signal }),
    async reserve({ id, isShared }, signal) {
      if (!isShared) await refuseWriters(client, names, { id, hostId }, { signal })
    },
    async expect() {},
    async follow() {},
    async release() {},
    fence: ({ id }, _, signal) => fenceWriters(client, names, id, { signal }),
  }
}

/** Ceph's own snapshot is of one moment, whichever guests write the volume. */
async function makeSnapshot(
  { client, names }: RbdWork,
  id: VolumeId,
  snapshot: VolumeSnapshotId,
  ask: Ask,
): Promise<void> {
  const spec = specOf(client, names.volume(id), snapshot)
  await rbd(client, ['snap', 'create', '--no-progress', spec], ask).catch((error: unknown) => {
    if (endedWith(error, EXIT.notFound)) throw noVolume(id)
    if (!endedWith(error, EXIT.exists)) throw error
  })
}

async function copyTo(
  { client, names, hostId }: RbdWork,
  file: DiskFile,
  id: VolumeId,
  ask: Ask,
): Promise<void> {
  const image = names.volume(id)
  const snapshot = `export-${hostId}`
  await snapshotNow(client, { image, snapshot, absent: () => noVolume(id) }, ask)
  try {
    await copyOut(qemuTarget(client, image, snapshot), file, ask.signal)
  } finally {
    await removeSnapshot(client, image, snapshot, ask)
  }
}

/**
 * The content comes back in place, block by block; one that is interrupted is asked for again, and knows the size that the
 * volume had.
 */
async function revert(
  { client, names }: RbdWork,
  id: VolumeId,
  snapshot: VolumeSnapshotId,
  ask: Ask,
): Promise<void> {
  const image = names.volume(id)
  const spec = specOf(client, image)
  if (!(await snapshotNames(client, image, ask)).includes(snapshot))
    throw new Failure('not-found', `Snapshot ${snapshot} could not be found in its store.`)
  const bytes = Math.max(await volumeBytes(client, names, id, ask), await before())
  await rbd(client, ['image-meta', 'set', spec, REVERTING, String(bytes)], ask)
  const rollback = ['snap', 'rollback', '--no-progress', specOf(client, image, snapshot)]
  await rbd(client, rollback, { ...ask, isLong: true })
  if ((await volumeBytes(client, names, id, ask)) < bytes) await resize(client, image, bytes, ask)
  await rbd(client, ['image-meta', 'remove', spec, REVERTING], ask)

  async function before(): Promise<number> {
    return rbd(client, ['image-meta', 'get', spec, REVERTING], ask).then(
      Number,
      (error: unknown) => {
        if (endedWith(error, EXIT.notFound)) return 0
        throw error
      },
    )
  }
}
