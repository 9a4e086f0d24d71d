import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure, isFailure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import type { DiskImage } from '../../driver.ts'
import { KeyedLock } from '../../keyed-lock.ts'
import type { OpenedDisk } from '../../qemu-img.ts'
import { storageFailure } from '../../storage-failure.ts'
import type {
  StoreReport,
  VolumeCarry,
  VolumeFormat,
  VolumeRef,
  VolumeSpec,
  Volumes,
} from '../../volumes.ts'
import type { LibvirtHost } from '../host.ts'
import { attachVolume, detachVolume } from './attach.ts'
import { makeSealedCopy } from './encryption/luks-file.ts'
import { volumeCopies } from './given-disk.ts'
import { openDisksOf, refuseUsed } from './openers.ts'
import type { FoundStore } from './pools.ts'
import { reimageVolume } from './reimage.ts'
import { inSectors, type VolumeStore } from './store.ts'
import { libvirtSwap } from './swap.ts'
import { removeFile } from './volume-files.ts'

/** Volumes in the storage pools of a host. */
export function libvirtVolumes(host: LibvirtHost): Volumes {
  /** By volume or snapshot. */
  const making = new KeyedLock<string>()
  const { pools, volumeLocks } = host
  const storeOf = host.openStore
  return {
    async stores(signal) {
      return (await pools.reached(signal)).map(reportOf)
    },
    create: (spec, signal) =>
      making.run(spec.id, signal, async () => {
        await create(host, await storeOf(spec.store, signal), spec, signal)
      }),
    destroy: ({ store, id }, signal) =>
      volumeLocks.run(id, signal, async () => {
        await destroy(host, await storeOf(store, signal), { store, id }, signal)
      }),
    list: async (store, signal) => (await storeOf(store, signal)).list(signal),
    extend: ({ store, id }, bytes, signal) =>
      volumeLocks.run(id, signal, async () => {
        await extend(host, await storeOf(store, signal), { id, bytes }, signal)
      }),
    snapshot: ({ store, id }, snapshot, signal) =>
      making.run(snapshot, signal, async () => {
        await (await storeOf(store, signal)).snapshot(id, snapshot, signal)
      }),
    export: ({ store, id }, format, signal, { isSealed = false } = {}) =>
      making.run(id, signal, async () => {
        const opened = await storeOf(store, signal)
        await (isSealed
          ? refuseUsed(host, opened, { store, id }, signal)
          : refuseEncrypted(opened, id, signal))
        return exportVolume(host, opened, { id, format }, signal)
      }),
    revert: ({ store, id }, snapshot, signal) =>
      volumeLocks.run(id, signal, async () => {
        const opened = await storeOf(store, signal)
        await opened.sizeOf(id, signal)
        await refuseUsed(host, opened, { store, id }, signal)
        await opened.revert(id, snapshot, signal)
      }),
    reimage: (volume, image, signal) => reimageVolume(host, volume, image, signal),
    async destroySnapshot({ store, id }, snapshot, signal) {
      await (await storeOf(store, signal)).removeSnapshot(id, snapshot, signal)
    },
    keys: host.keyring,
    carry: carryOf(host, making),
    swap: libvirtSwap(host),
    attach: (id, attachment, signal) => attachVolume(host, id, attachment, signal),
    detach: (id, attachment, signal) => detachVolume(host, id, attachment, signal),
  }
}

/** `making` is held while a volume is copied. */
function carryOf(host: LibvirtHost, making: KeyedLock<string>): VolumeCarry {
  const copies = volumeCopies(host)
  return {
    pack: ({ store, id }, copy, signal, { sealAs } = {}) =>
      making.run(id, signal, async () => {
        const opened = await host.openStore(store, signal)
        const bytes = await opened.sizeOf(id, signal)
        await refuseUsed(host, opened, { store, id }, signal)
        if (sealAs === undefined)
          return copies.make(copy, (path) => opened.copyTo({ path, format: 'qcow2' }, id, signal))
        if (await isEncrypted(opened, id, signal))
          throw new Failure('conflict', `Volume ${id} is encrypted already.`)
        const key = host.keyring.keyOf(id)
        const fill = (to: OpenedDisk) => opened.copyTo(to, id, signal)
        await copies.make(copy, (path) =>
          makeSealedCopy({ path, key }, sealAs, { bytes, fill }, signal),
        )
      }),
    read: (copy, part) => copies.read(copy, part),
    write: (copy, offset, bytes) => copies.write(copy, offset, bytes),
    drop: (copy) => copies.drop(copy),
  }
}

/** What the host reports of a store, and nothing of how it reaches it. */
function reportOf(store: FoundStore): StoreReport {
  const { id, name, engine, totalBytes, freeBytes, isShared, multiattach, encrypts } = store
  const { largestVolumeBytes, lacks } = store
  return {
    ...{ id, name, engine, totalBytes, freeBytes, isShared, multiattach, encrypts },
    ...(largestVolumeBytes !== undefined && { largestVolumeBytes }),
    ...(lacks !== undefined && { lacks }),
  }
}

async function create(
  host: LibvirtHost,
  store: VolumeStore,
  spec: VolumeSpec,
  signal: AbortSignal,
): Promise<void> {
  if ((await sizeIfMade(store, spec.id, signal)) !== undefined)
    return extend(host, store, spec, signal)
  await store.refuseTooLarge(spec.bytes, signal)
  await store.make(spec, signal)
}

async function sizeIfMade(
  store: VolumeStore,
  id: VolumeId,
  signal: AbortSignal,
): Promise<number | undefined> {
  return store.sizeOf(id, signal).catch((error: unknown) => {
    if (isFailure(error, 'not-found')) return undefined
    throw error
  })
}

/**
 * The copy lies in the host's state directory until it is disposed. While QEMU writes it, other accounts of the host may read
 * it if they know its name, which therefore cannot be guessed, nor listed.
 */
async function exportVolume(
  host: LibvirtHost,
  store: VolumeStore,
  { id, format }: { readonly id: VolumeId; readonly format: VolumeFormat },
  signal: AbortSignal,
): Promise<DiskImage> {
  const folder = join(host.stateDirectory, 'exports')
  const path = join(folder, `${id}.${randomUUID()}`)
  const remove = () => removeFile(path)
  await mkdir(folder, { recursive: true, mode: 0o711 })
  // What a process left that ended meanwhile.
  for (const name of await readdir(folder))
    if (name.startsWith(`${id}.`)) await removeFile(join(folder, name))
  try {
    await store.copyTo({ path, format }, id, signal)
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

/** Throws `unsupported` for an encrypted volume, whose content would leave in the clear, and `not-found`. */
async function refuseEncrypted(
  store: VolumeStore,
  id: VolumeId,
  signal: AbortSignal,
): Promise<void> {
  await store.sizeOf(id, signal)
  if (await isEncrypted(store, id, signal))
    throw new Failure('unsupported', `Volume ${id} is encrypted, and is made into no image.`)
}

async function isEncrypted(store: VolumeStore, id: VolumeId, signal: AbortSignal) {
  return (await store.sourceOf(id, signal)).isEncrypted === true
}

async function destroy(
  host: LibvirtHost,
  store: VolumeStore,
  ref: VolumeRef,
  signal: AbortSignal,
): Promise<void> {
  const { id } = ref
  if ((await sizeIfMade(store, id, signal)) !== undefined) {
    if ((await store.snapshotsOf(id, signal)).length > 0)
      throw new Failure('conflict', `Volume ${id} has snapshots.`)
    await refuseUsed(host, store, ref, signal)
  }
  await store.remove(id, signal)
}

async function extend(
  host: LibvirtHost,
  store: VolumeStore,
  { id, bytes }: { readonly id: VolumeId; readonly bytes: number },
  signal: AbortSignal,
): Promise<void> {
  const before = await store.sizeOf(id, signal)
  if (bytes > before) await store.refuseGrowth(id, bytes, signal)
  const wanted = inSectors(Math.max(bytes, before))
  for (const { domain, target, volume, isPart } of await openDisksOf(host, id, signal)) {
    // QEMU resizes no disk that it may not write or sees in part; its guest sees the size at its next start.
    if (volume.isReadOnly || isPart) continue
    // A smaller size would cut the volume off, and libvirt does that without a word.
    if ((await host.disks.size(domain, target, signal)) < wanted)
      await host.disks.resize(domain, target, wanted, signal)
  }
  if ((await store.sizeOf(id, signal)) < wanted) await store.grow(id, wanted, signal)
}
