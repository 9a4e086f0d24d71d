import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { isUuid, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { KeyedLock } from '../../../keyed-lock.ts'
import { copyOut, type DiskTarget } from '../../../qemu-img.ts'
import type { LibvirtHost } from '../../host.ts'
import { volumeCopies } from '../given-disk.ts'
import { tooLarge, type VolumeStore } from '../store.ts'
import { type Ask, EXIT, endedWith, rbd } from './rbd-client.ts'
import { makeVolume, qemuTarget, type RbdWork, resize } from './rbd-content.ts'
import { bytesWanted, refuseHalfWritten } from './rbd-half-written.ts'
import {
  findVolumeImage,
  headerOf,
  imageInfo,
  listVolumes,
  noVolume,
  rbdNames,
  removeSnapshot,
  snapshotNames,
  snapshotNow,
  specOf,
  volumeImage,
} from './rbd-images.ts'
import { admitWriter, fenceWriters, refuseWriters } from './rbd-openers.ts'
import type { RbdStore } from './rbd-pools.ts'
import { reimage } from './rbd-reimage.ts'
import { removeVolume } from './rbd-remove.ts'

/** The bytes that an image is to have after a revert that is under way. */
const REVERTING = 'weir_reverting'

/** Of all stores of this process: an image is brought into a pool once. */
const bringing = new KeyedLock<string>()

/** A store whose volumes are images in a pool of Ceph. Everything goes through Ceph's own programs, never libvirt's pool. */
export function rbdStore(host: LibvirtHost, store: RbdStore): VolumeStore {
  const { owner, images, keyring } = host
  const copies = volumeCopies(host)
  const { hostId } = owner
  const names = rbdNames(owner)
  const client = store
  const scratch = join(host.stateDirectory, 'ceph')
  const work: RbdWork = { client, names, images, copies, hostId, bringing, keyring, scratch }
  const find = (id: VolumeId, signal: AbortSignal) => findVolumeImage(client, names, id, { signal })
  const get = (id: VolumeId, signal: AbortSignal) => volumeImage(client, names, id, { signal })
  const refuseHalf = async (id: VolumeId, signal: AbortSignal) => {
    const { image } = await get(id, signal)
    await refuseHalfWritten(client, { id, image }, { signal })
  }
  return {
    async sourceOf(id, signal) {
      const { image = names.volume(id), keyBits } = (await find(id, signal)) ?? {}
      const path = specOf(client, image)
      return { path, rbd: store.source, ...(keyBits !== undefined && { isEncrypted: true }) }
    },
    sizeOf: (id, signal) => sizeOf(work, id, { signal }),
    list: (signal) => listVolumes(client, names, { signal }),
    async snapshotsOf(id, signal) {
      const found = await find(id, signal)
      const all = found === undefined ? [] : await snapshotNames(client, found.image, { signal })
      return all.filter(isUuid) as VolumeSnapshotId[]
    },
    async refuseTooLarge(bytes) {
      if (bytes > store.totalBytes) throw tooLarge(store, bytes)
    },
    async refuseGrowth(_, bytes) {
      if (bytes > store.totalBytes) throw tooLarge(store, bytes)
    },
    make: (spec, signal) => makeVolume(work, spec, { signal }),
    remove: (id, signal) => removeVolume(client, names, id, { signal }),
    async grow(id, bytes, signal) {
      const { image, keyBits } = await get(id, signal)
      await resize(client, image, bytes + headerOf(keyBits), { signal })
    },
    snapshot: (id, snapshot, signal) => makeSnapshot(work, id, snapshot, { signal }),
    async removeSnapshot(id, snapshot, signal) {
      const found = await find(id, signal)
      if (found !== undefined) await removeSnapshot(client, found.image, snapshot, { signal })
    },
    copyTo: (to, id, signal) => copyTo(work, to, id, { signal }),
    revert: (id, snapshot, signal) => revert(work, id, snapshot, { signal }),
    reimage: (wanted, signal) => reimage(work, wanted, { signal }),
    async refuseOpen(id, signal) {
      const path = specOf(client, (await get(id, signal)).image)
      await refuseWriters(client, { id, path, hostId }, { signal })
    },
    async admit(volume, signal) {
      await refuseHalf(volume.id, signal)
      await admitWriter(client, { ...volume, hostId }, { signal })
    },
    async reserve({ id, path, isShared }, signal) {
      await refuseHalf(id, signal)
      if (!isShared) await refuseWriters(client, { id, path, hostId }, { signal })
    },
    async expect() {},
    async follow() {},
    async release() {},
    fence: (volume, _, signal) => fenceWriters(client, volume, { signal }),
  }
}

/** Ceph's own snapshot is of one moment, whichever guests write the volume. */
/** What the volume has once it is whole: one that is given other content is cut off first. */
async function sizeOf({ client, names }: RbdWork, id: VolumeId, ask: Ask): Promise<number> {
  const { image, bytes, keyBits } = await volumeImage(client, names, id, ask)
  if (bytes > 0) return bytes
  const wanted = await bytesWanted(client, image, ask)
  return wanted === undefined ? bytes : wanted - headerOf(keyBits)
}

async function makeSnapshot(
  { client, names }: RbdWork,
  id: VolumeId,
  snapshot: VolumeSnapshotId,
  ask: Ask,
): Promise<void> {
  const { image } = await volumeImage(client, names, id, ask)
  await refuseHalfWritten(client, { id, image }, ask)
  const spec = specOf(client, image, snapshot)
  const told = { ...ask, tells: true } as const
  await rbd(client, ['snap', 'create', '--no-progress', spec], told).catch((error: unknown) => {
    if (endedWith(error, EXIT.notFound)) throw noVolume(id)
    if (!endedWith(error, EXIT.exists)) throw error
  })
}

async function copyTo(
  { client, names, hostId }: RbdWork,
  to: DiskTarget,
  id: VolumeId,
  ask: Ask,
): Promise<void> {
  const { image } = await volumeImage(client, names, id, ask)
  await refuseHalfWritten(client, { id, image }, ask)
  const snapshot = `export-${hostId}`
  await snapshotNow(client, { image, snapshot, absent: () => noVolume(id) }, ask)
  try {
    await copyOut(qemuTarget(client, image, snapshot), to, ask.signal)
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
  const { image, bytes: now, keyBits } = await volumeImage(client, names, id, ask)
  const header = headerOf(keyBits)
  const spec = specOf(client, image)
  if (!(await snapshotNames(client, image, ask)).includes(snapshot))
    throw new Failure('not-found', `Snapshot ${snapshot} could not be found in its store.`)
  const bytes = Math.max(now + header, await before())
  await rbd(client, ['image-meta', 'set', spec, REVERTING, String(bytes)], ask)
  const rollback = ['snap', 'rollback', '--no-progress', specOf(client, image, snapshot)]
  await rbd(client, rollback, { ...ask, isLong: true })
  if ((await imageInfo(client, image, ask))!.size < bytes) await resize(client, image, bytes, ask)
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
