import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { chmod, mkdir, open, readdir, rename, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { VolumeId, VolumeSnapshotId } from '#common/ids.ts'
import type { DiskImage } from '../../driver.ts'
import { KeyedLock } from '../../keyed-lock.ts'
import { storageFailure } from '../../storage-failure.ts'
import type { VolumeFormat, VolumeRef, VolumeSpec, Volumes } from '../../volumes.ts'
import type { LibvirtHost } from '../host.ts'
import { SECRET_MODE } from '../spawn.ts'
import { attachVolume, detachVolume } from './attach.ts'
import { holdersOf, openDisksOf, refuseOpen } from './openers.ts'
import type { FolderStore } from './pools.ts'
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

const SECTOR = 512

/** Volumes as sparse raw files in folders that are storage pools. */
export function libvirtVolumes(host: LibvirtHost): Volumes {
  /** By volume or snapshot. */
  const making = new KeyedLock<string>()
  const { pools, volumeLocks } = host
  return {
    async stores(signal) {
      return (await pools.reached(signal)).map(({ path: _path, ...report }) => report)
    },
    create: (spec, signal) =>
      making.run(spec.id, signal, async () => {
        await create(host, await pools.get(spec.store, signal), spec, signal)
      }),
    destroy: (volume, signal) =>
      volumeLocks.run(volume.id, signal, async () => {
        await destroy(host, await pools.get(volume.store, signal), volume, signal)
      }),
    list: async (store, signal) => listVolumeFiles(await pools.get(store, signal), host.owner),
    extend: (volume, bytes, signal) =>
      volumeLocks.run(volume.id, signal, async () => {
        await extend(host, await pools.get(volume.store, signal), { ...volume, bytes }, signal)
      }),
    snapshot: (volume, snapshot, signal) =>
      making.run(snapshot, signal, async () => {
        await makeSnapshot(host, await pools.get(volume.store, signal), volume, snapshot, signal)
      }),
    export: ({ store, id }, format, signal) =>
      making.run(id, signal, async () =>
        exportVolume(host, await pools.get(store, signal), { id, format }, signal),
      ),
    revert: (volume, snapshot, signal) =>
      volumeLocks.run(volume.id, signal, async () => {
        await revert(host, await pools.get(volume.store, signal), volume, snapshot, signal)
      }),
    async destroySnapshot({ store, id }, snapshot, signal) {
      await removeFile(snapshotPath(await pools.get(store, signal), host.owner, id, snapshot))
    },
    attach: (id, attachment, signal) => attachVolume(host, id, attachment, signal),
    detach: (id, attachment, signal) => detachVolume(host, id, attachment, signal),
  }
}

async function create(
  host: LibvirtHost,
  store: FolderStore,
  spec: VolumeSpec,
  signal: AbortSignal,
): Promise<void> {
  const path = volumePath(store, host.owner, spec.id)
  if ((await sizeIfThere(path)) !== undefined) return extend(host, store, spec, signal)
  refuseTooLarge(store, spec.bytes)
  await makeWhole(path, async (part) => {
    await fillVolume(host, store, spec, part, signal)
    const bytes = Math.max(spec.bytes, (await sizeIfThere(part))!)
    await truncate(part, inSectors(bytes))
  })
}

async function makeSnapshot(
  host: LibvirtHost,
  store: FolderStore,
  { id }: VolumeRef,
  snapshot: VolumeSnapshotId,
  signal: AbortSignal,
): Promise<void> {
  await volumeSize(volumePath(store, host.owner, id), id)
  const path = snapshotPath(store, host.owner, id, snapshot)
  if ((await sizeIfThere(path)) !== undefined) return
  await makeWhole(path, (path) => copyVolume(host, store, id, { path, format: 'raw' }, signal))
}

/**
 * The copy lies in the host's state directory until it is disposed. While QEMU writes it, other accounts of the host may read
 * it if they know its name, which therefore cannot be guessed, nor listed.
 */
async function exportVolume(
  host: LibvirtHost,
  store: FolderStore,
  { id, format }: { readonly id: VolumeId; readonly format: VolumeFormat },
  signal: AbortSignal,
): Promise<DiskImage> {
  await volumeSize(volumePath(store, host.owner, id), id)
  const folder = join(host.stateDirectory, 'exports')
  const path = join(folder, `${id}.${randomUUID()}`)
  const remove = () => removeFile(path)
  await mkdir(folder, { recursive: true, mode: 0o711 })
  // What a process left that ended meanwhile.
  for (const name of await readdir(folder))
    if (name.startsWith(`${id}.`)) await removeFile(join(folder, name))
  try {
    await copyVolume(host, store, id, { path, format }, signal)
    return {
      diskFormat: format,
      sizeBytes: (await stat(path)).size,
      content: () => createReadStream(path),
      [Symbol.asyncDispose]: remove,
    }
  } catch (error) {
    await remove()
    throw storageFailure(error)
  }
}

async function revert(
  host: LibvirtHost,
  store: FolderStore,
  { id }: VolumeRef,
  snapshot: VolumeSnapshotId,
  signal: AbortSignal,
): Promise<void> {
  const path = volumePath(store, host.owner, id)
  const bytes = await volumeSize(path, id)
  await refuseUsed(host, id, path, signal)
  const from = { volume: id, snapshot }
  await makeWhole(path, async (part) => {
    await fillVolume(host, store, { from }, part, signal)
    await truncate(part, bytes)
  })
}

/** Throws `conflict` while a guest has the volume, here or elsewhere. */
async function refuseUsed(
  host: LibvirtHost,
  id: VolumeId,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const [holder] = await holdersOf(host, id, signal)
  if (holder !== undefined)
    throw new Failure('conflict', `Instance ${holder.instance} has volume ${id}.`)
  await refuseOpen(path, id, signal)
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

async function destroy(
  host: LibvirtHost,
  store: FolderStore,
  { id }: VolumeRef,
  signal: AbortSignal,
): Promise<void> {
  const path = volumePath(store, host.owner, id)
  if ((await sizeIfThere(path)) !== undefined) {
    const report = (await listVolumeFiles(store, host.owner)).find((each) => each.id === id)
    if (report !== undefined && report.snapshots.length > 0)
      throw new Failure('conflict', `Volume ${id} has snapshots.`)
    await refuseUsed(host, id, path, signal)
  }
  await removeVolumeFiles(store, host.owner, id)
}

async function extend(
  host: LibvirtHost,
  store: FolderStore,
  { id, bytes }: { readonly id: VolumeId; readonly bytes: number },
  signal: AbortSignal,
): Promise<void> {
  const path = volumePath(store, host.owner, id)
  const before = await volumeSize(path, id)
  if (bytes > before) refuseTooLarge(store, bytes)
  const wanted = inSectors(Math.max(bytes, before))
  for (const { domain, target, volume } of await openDisksOf(host, id, signal)) {
    // QEMU resizes no disk that it may not write; its guest sees the size at its next start.
    if (volume.isReadOnly) continue
    // A smaller size would cut the volume off, and libvirt does that without a word.
    if ((await host.disks.size(domain, target, signal)) < wanted)
      await host.disks.resize(domain, target, wanted, signal)
  }
  if ((await volumeSize(path, id)) < wanted) await truncate(path, wanted)
}

/** A file that is larger than its file system could never be filled. */
function refuseTooLarge({ name, totalBytes }: FolderStore, bytes: number): void {
  if (bytes <= totalBytes) return
  throw new Failure('no-capacity', 'The store has no room for the volume.', {
    detail: `storage pool ${name} has ${totalBytes} bytes, and ${bytes} are needed`,
  })
}

function inSectors(bytes: number): number {
  return Math.ceil(bytes / SECTOR) * SECTOR
}
