import { chmod, open, rename, truncate } from 'node:fs/promises'
import type { VolumeId, VolumeSnapshotId } from '#common/ids.ts'
import { storageFailure } from '../../storage-failure.ts'
import type { VolumeSpec } from '../../volumes.ts'
import type { LibvirtHost } from '../host.ts'
import { SECRET_MODE } from '../spawn.ts'
import { refuseLocked } from './openers.ts'
import type { FolderStore } from './pools.ts'
import { inSectors, tooLarge, type VolumeStore } from './store.ts'
import { copyVolume, fillVolume } from './volume-content.ts'
import {
  listVolumeFiles,
  partPath,
  removeFile,
  removeVolumeFiles,
  sizeIfThere,
  snapshotPath,
  volumePath,
  volumeSize,
} from './volume-files.ts'

/** A store whose volumes are sparse raw files in a folder. */
export function folderStore(host: LibvirtHost, store: FolderStore): VolumeStore {
  const pathOf = (id: VolumeId) => volumePath(store, host.owner, id)
  return {
    sourceOf: (id) => ({ path: pathOf(id) }),
    sizeOf: (id) => volumeSize(pathOf(id), id),
    list: () => listVolumeFiles(store, host.owner),
    async snapshotsOf(id) {
      const all = await listVolumeFiles(store, host.owner)
      return all.find((each) => each.id === id)?.snapshots ?? []
    },
    // A file that is larger than its file system could never be filled.
    async refuseTooLarge(bytes) {
      if (bytes > store.totalBytes) throw tooLarge(store, bytes)
    },
    make: (spec, signal) => make(host, store, spec, signal),
    remove: (id) => removeVolumeFiles(store, host.owner, id),
    grow: (id, bytes) => truncate(pathOf(id), bytes),
    snapshot: (id, snapshot, signal) => makeSnapshot(host, store, { id, snapshot }, signal),
    removeSnapshot: (id, snapshot) => removeFile(snapshotPath(store, host.owner, id, snapshot)),
    copyTo: (file, id, signal) => copyVolume(host, store, id, file, signal),
    revert: (id, snapshot, signal) => revert(host, store, { id, snapshot }, signal),
    refuseOpen: (id, signal) => refuseLocked(pathOf(id), id, signal),
    async admit() {},
    async fence() {},
  }
}

async function make(
  host: LibvirtHost,
  store: FolderStore,
  spec: VolumeSpec,
  signal: AbortSignal,
): Promise<void> {
  await makeWhole(volumePath(store, host.owner, spec.id), async (part) => {
    await fillVolume(host, store, spec, part, signal)
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
  await volumeSize(volumePath(store, host.owner, id), id)
  const path = snapshotPath(store, host.owner, id, snapshot)
  if ((await sizeIfThere(path)) !== undefined) return
  await makeWhole(path, (path) => copyVolume(host, store, id, { path, format: 'raw' }, signal))
}

async function revert(
  host: LibvirtHost,
  store: FolderStore,
  { id, snapshot }: SnapshotOf,
  signal: AbortSignal,
): Promise<void> {
  const path = volumePath(store, host.owner, id)
  const bytes = await volumeSize(path, id)
  const from = { volume: id, snapshot }
  await makeWhole(path, async (part) => {
    await fillVolume(host, store, { from }, part, signal)
    await truncate(part, bytes)
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
