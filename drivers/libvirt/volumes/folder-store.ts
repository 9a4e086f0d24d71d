import { chmod, open, rename, truncate } from 'node:fs/promises'
import { isFailure } from '#common/errors.ts'
import type { VolumeId, VolumeSnapshotId } from '#common/ids.ts'
import { storageFailure } from '../../storage-failure.ts'
import type { VolumeSpec } from '../../volumes.ts'
import type { LibvirtHost } from '../host.ts'
import { SECRET_MODE } from '../spawn.ts'
import { readLuksHeader } from './encryption/luks-file.ts'
import { refuseLocked } from './openers.ts'
import type { FolderStore } from './pools.ts'
import { inSectors, type StoreReimage, tooLarge, type VolumeStore } from './store.ts'
import { copySnapshot, fillVolume, giveContent, keepContent } from './volume-content.ts'
import {
  findVolumeFile,
  listVolumeFiles,
  luksPath,
  partPath,
  removeFile,
  removeVolumeFiles,
  sizeIfThere,
  snapshotPath,
  type VolumeFile,
  volumePath,
} from './volume-files.ts'

/** A store whose volumes are sparse raw files in a folder; those of encrypted volumes are LUKS inside. */
export function folderStore(host: LibvirtHost, store: FolderStore): VolumeStore {
  const { owner } = host
  const fileOf = (id: VolumeId) => findVolumeFile(store, owner, id)
  return {
    async sourceOf(id) {
      const file = await fileOf(id).catch((error: unknown) => {
        if (isFailure(error, 'not-found')) return undefined
        throw error
      })
      const path = file?.path ?? volumePath(store, owner, id)
      return file?.isEncrypted === true ? { path, isEncrypted: true } : { path }
    },
    sizeOf: async (id) => (await fileOf(id)).bytes,
    list: () => listVolumeFiles(store, owner),
    async snapshotsOf(id) {
      const all = await listVolumeFiles(store, owner)
      return all.find((each) => each.id === id)?.snapshots ?? []
    },
    // A file that is larger than its file system could never be filled.
    async refuseTooLarge(bytes) {
      if (bytes > store.totalBytes) throw tooLarge(store, bytes)
    },
    async refuseGrowth(_, bytes) {
      if (bytes > store.totalBytes) throw tooLarge(store, bytes)
    },
    make: (spec, signal) => make(host, store, spec, signal),
    remove: (id) => removeVolumeFiles(store, owner, id),
    grow: async (id, bytes) => grow(await fileOf(id), bytes),
    snapshot: (id, snapshot, signal) => makeSnapshot(host, store, { id, snapshot }, signal),
    removeSnapshot: (id, snapshot) => removeFile(snapshotPath(store, owner, id, snapshot)),
    copyTo: (to, id, signal) => giveContent(host, store, id, to, signal),
    revert: (id, snapshot, signal) => revert(host, store, { id, snapshot }, signal),
    reimage: (wanted, signal) => reimage(host, store, wanted, signal),
    refuseOpen: async (id, signal) => refuseLocked((await fileOf(id)).path, id, signal),
    async admit() {},
    async reserve({ id, isShared }, signal) {
      if (!isShared) await refuseLocked((await fileOf(id)).path, id, signal)
    },
    async expect() {},
    async follow() {},
    async release() {},
    async fence() {},
  }
}

/** Afterwards a guest that opens the file sees so many bytes, more than before. */
async function grow({ path, isEncrypted }: VolumeFileKind, bytes: number): Promise<void> {
  const { offset } = isEncrypted ? await readLuksHeader(path) : { offset: 0 }
  await truncate(path, offset + bytes)
}

type VolumeFileKind = Pick<VolumeFile, 'path' | 'isEncrypted'>

async function make(
  host: LibvirtHost,
  store: FolderStore,
  spec: VolumeSpec,
  signal: AbortSignal,
): Promise<void> {
  const isEncrypted = spec.encryption !== undefined
  const path = (isEncrypted ? luksPath : volumePath)(store, host.owner, spec.id)
  await makeWhole(path, async (part) => {
    await fillVolume(host, store, spec, part, signal)
    if (isEncrypted) return
    const bytes = Math.max(spec.bytes, (await sizeIfThere(part))!)
    await truncate(part, inSectors(bytes))
  })
}

interface SnapshotOf {
  readonly id: VolumeId
  readonly snapshot: VolumeSnapshotId
}

async function makeSnapshot(
  host: LibvirtHost,
  store: FolderStore,
  { id, snapshot }: SnapshotOf,
  signal: AbortSignal,
): Promise<void> {
  await findVolumeFile(store, host.owner, id)
  const path = snapshotPath(store, host.owner, id, snapshot)
  if ((await sizeIfThere(path)) !== undefined) return
  await makeWhole(path, (part) => keepContent(host, store, id, part, signal))
}

/** The snapshot of an encrypted volume has the key of the volume. */
async function revert(
  host: LibvirtHost,
  store: FolderStore,
  { id, snapshot }: SnapshotOf,
  signal: AbortSignal,
): Promise<void> {
  const { path, bytes, isEncrypted } = await findVolumeFile(store, host.owner, id)
  await makeWhole(path, async (part) => {
    await copySnapshot(host, store, { volume: id, snapshot }, part, signal)
    await grow({ path: part, isEncrypted }, bytes)
  })
}

/** The file that comes in the place of the volume's has the same key. Guests open it by its name, at their next start. */
async function reimage(
  host: LibvirtHost,
  store: FolderStore,
  { id, image }: StoreReimage,
  signal: AbortSignal,
): Promise<void> {
  const { path, bytes, isEncrypted } = await findVolumeFile(store, host.owner, id)
  await refuseLocked(path, id, signal)
  const encryption = isEncrypted ? { keyBits: (await readLuksHeader(path)).keyBits } : undefined
  const wanted = { id, bytes, from: { image }, ...(encryption && { encryption }) }
  await makeWhole(path, async (part) => {
    await fillVolume(host, store, wanted, part, signal)
    await grow({ path: part, isEncrypted }, bytes)
  })
}

/** Afterwards the file is there, whole and on disk; after a failure no part of it is. */
async function makeWhole(path: string, fill: (part: string) => Promise<void>): Promise<void> {
  const part = partPath(path)
  await removeFile(part)
  try {
    await fill(part)
    await chmod(part, SECRET_MODE)
    const file = await open(part, 'r+')
    try {
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(part, path)
  } catch (error) {
    await removeFile(part)
    throw storageFailure(error)
  }
}
