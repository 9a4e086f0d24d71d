import { Failure } from '#common/errors.ts'
import type { InstanceId, VolumeId, VolumeSnapshotId } from '#common/ids.ts'
import type { InstanceSpec } from '../driver.ts'
import type { AttachmentSpec, StoreReport, VolumeRef, VolumeSpec, Volumes } from '../volumes.ts'
import type { FaultyMethod } from './faults.ts'
import { type FakeAttachment, type FakeGuest, withEvent } from './guest.ts'
import type { FakeHost } from './host.ts'
import { simulatedDisk } from './simulated-disk.ts'
import { refuseLacking } from './store-lacks.ts'
import { fakeCarry, findCopy } from './volume-carry.ts'
import type { VolumeFolder } from './volume-folder.ts'
import { noStore, refuseOtherStore, unsuspended } from './volume-refusals.ts'
import { fakeSwap } from './volume-swap.ts'

/** Volumes that have a size and no content. */
export function fakeVolumes(host: FakeHost, folder: VolumeFolder): Volumes {
  const { guests } = host
  const onVolume = async <T>(
    method: FaultyMethod,
    { store, id }: VolumeRef,
    signal: AbortSignal,
    work: () => T,
  ): Promise<T> => {
    await refuseOtherStore(folder, store)
    return host.faulty(method, { id, displayName: '' }, signal, work)
  }
  return {
    async stores(signal) {
      const id = await folder.identity()
      return host.faulty('stores', undefined, signal, () => [reportOf(host, folder, id)])
    },
    async create(spec, signal) {
      await findCopy(host, spec)
      await onVolume('createVolume', spec, signal, () => make(host, folder, spec))
    },
    destroy: (volume, signal) =>
      onVolume('destroyVolume', volume, signal, () => folder.remove(volume.id)),
    async list(store, signal) {
      await refuseOtherStore(folder, store)
      return host.faulty('listVolumes', undefined, signal, () => folder.list())
    },
    extend: (volume, bytes, signal) =>
      onVolume('extendVolume', volume, signal, () => grow(host, folder, volume, bytes)),
    snapshot: (volume, snapshot, signal) =>
      onVolume('snapshotVolume', volume, signal, () => keep(host, folder, volume, snapshot)),
    export: (volume, _format, signal, how) =>
      onVolume('exportVolume', volume, signal, () =>
        exported(host, folder, volume, how?.isSealed === true),
      ),
    revert: (volume, snapshot, signal) =>
      onVolume('revertVolume', volume, signal, () => folder.revert(volume.id, snapshot)),
    reimage: (volume, image, signal) =>
      onVolume('reimageVolume', volume, signal, () => folder.reimage(volume.id, image)),
    destroySnapshot: (volume, snapshot, signal) =>
      onVolume('destroyVolumeSnapshot', volume, signal, () =>
        folder.removeSnapshot(volume.id, snapshot),
      ),
    keys: host.keyring,
    carry: fakeCarry(host, folder, host.volumeCopies),
    swap: fakeSwap(host, folder),
    attach: (id, attachment, signal) => attach(host, folder, { id, attachment }, signal),
    detach: (id, attachmentId, signal) =>
      host.change('detachVolume', id, signal, () => {
        const guest = guests.get(id)
        const found = volumesOf(guest).find((each) => each.attachmentId === attachmentId)
        if (found === undefined) return
        if (found.isRoot === true) refuseRootVolume(guest)
        unsuspended(guest)
        folder.close(found.id, attachmentId)
        const left = volumesOf(guest).filter((each) => each !== found)
        rewire(host, guest, left, 'detached')
      }),
  }
}

interface Attach {
  readonly id: InstanceId
  readonly attachment: AttachmentSpec
}

async function attach(
  host: FakeHost,
  folder: VolumeFolder,
  { id, attachment }: Attach,
  signal: AbortSignal,
): Promise<string> {
  const { guests } = host
  guests.get(id)
  await refuseOtherStore(folder, attachment.store)
  let device = ''
  await host.change('attachVolume', id, signal, () => {
    const guest = unsuspended(guests.get(id))
    const { attachmentId, isShared } = attachment
    const known = volumesOf(guest).find((each) => each.attachmentId === attachmentId)
    device = known?.device ?? freeDevice(guest)
    folder.open(attachment.id, attachmentId, { instance: id, isShared })
    if (known === undefined)
      rewire(host, guest, [...volumesOf(guest), { ...attachment, device }], 'attached')
  })
  return device
}

function make(host: FakeHost, folder: VolumeFolder, spec: VolumeSpec): void {
  const { from } = spec
  if (from !== undefined && 'volume' in from && !('snapshot' in from))
    refuseLacking(host, folder, 'copy', from.volume)
  folder.make(spec.id, sizeOf(folder, spec), spec.encryption !== undefined)
}

function grow(host: FakeHost, folder: VolumeFolder, { id }: VolumeRef, bytes: number): void {
  refuseLacking(host, folder, 'extend', id)
  folder.grow(id, bytes)
}

function keep(
  host: FakeHost,
  folder: VolumeFolder,
  { id }: VolumeRef,
  snapshot: VolumeSnapshotId,
): void {
  refuseLacking(host, folder, 'snapshot', id)
  folder.keepSnapshot(id, snapshot)
}

/** The content is raw whatever format is asked for, and says so. */
function exported(host: FakeHost, folder: VolumeFolder, { id }: VolumeRef, isSealed: boolean) {
  refuseLacking(host, folder, 'copy', id)
  const { bytes } = folder.get(id)
  if (folder.isEncrypted(id) && !isSealed)
    throw new Failure('unsupported', `Volume ${id} is encrypted, and is made into no image.`)
  return simulatedDisk(`fake volume ${id} of ${bytes} bytes`)
}

/** Afterwards a guest that goes has none of its volumes open. */
export function closeVolumes(host: FakeHost, id: InstanceId): void {
  const guest = host.guests.find(id)
  if (guest === undefined || host.volumeFolder === undefined) return
  for (const { id: volume, attachmentId, swapsTo } of volumesOf(guest)) {
    host.volumeFolder.close(volume, attachmentId)
    if (swapsTo !== undefined) host.volumeFolder.close(swapsTo.id, attachmentId)
  }
}

/** Throws `not-found` for a volume of a new guest whose store this host does not reach. */
export async function refuseOtherStores(
  { volumeFolder }: FakeHost,
  { volumes = [] }: InstanceSpec,
): Promise<void> {
  for (const { store } of volumes) {
    if (volumeFolder === undefined) throw noStore(store)
    await refuseOtherStore(volumeFolder, store)
  }
}

/** The volumes of a new guest, which has them open afterwards; after a failure it has none of them. */
export function openVolumes(
  { volumeFolder: folder }: FakeHost,
  { id: instance, volumes = [], flavor }: InstanceSpec,
): readonly FakeAttachment[] {
  const ownDisks = 1 + Number(flavor.ephemeralGb > 0) + Number(flavor.swapMb > 0)
  const names = LETTERS.slice(ownDisks).map((letter) => `/dev/vd${letter}`)
  const opened: FakeAttachment[] = []
  try {
    for (const volume of volumes) {
      const { id, attachmentId, isShared, isRoot } = volume
      folder?.open(id, attachmentId, { instance, isShared })
      const device = isRoot === true ? '/dev/vda' : (names.shift() ?? '')
      opened.push({ ...volume, device })
    }
    return opened
  } catch (error) {
    for (const { id, attachmentId } of opened) folder?.close(id, attachmentId)
    throw error
  }
}

/** The volume from which the guest starts; undefined: it has a disk of its own. */
export function rootVolumeOf(guest: FakeGuest): FakeAttachment | undefined {
  return volumesOf(guest).find(({ isRoot }) => isRoot === true)
}

/** Throws `conflict` for a guest that starts from a volume, and has no disk of its own that could be saved. */
export function refuseRootVolume(guest: FakeGuest): void {
  const root = rootVolumeOf(guest)
  if (root === undefined) return
  throw new Failure('conflict', `Instance ${guest.id} starts from volume ${root.id}.`)
}

/** The guest that has come from another host, which has its volumes open here afterwards, under the names that it knows. */
export function withVolumesHere(
  host: FakeHost,
  { volumes: known = [], ...guest }: FakeGuest,
  spec: InstanceSpec,
): FakeGuest {
  const opened = openVolumes(host, spec).map((volume) => ({
    ...volume,
    device:
      known.find((each) => each.attachmentId === volume.attachmentId)?.device ?? volume.device,
  }))
  return opened.length === 0 ? guest : { ...guest, volumes: opened }
}

/** Afterwards a guest that has not gone to another host after all has its volumes open here. */
export function reopenVolumes({ volumeFolder }: FakeHost, guest: FakeGuest): void {
  for (const { id, attachmentId, isShared } of volumesOf(guest))
    volumeFolder?.open(id, attachmentId, { instance: guest.id, isShared })
}

function volumesOf({ volumes = [] }: FakeGuest): readonly FakeAttachment[] {
  return volumes
}

function rewire(
  host: FakeHost,
  guest: FakeGuest,
  volumes: readonly FakeAttachment[],
  what: 'attached' | 'detached',
): void {
  const { powerState } = guest
  const line = `volume ${what}, now ${volumes.length}`
  host.guests.put(withEvent({ ...guest, volumes }, powerState, line))
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'.split('')

function freeDevice(guest: FakeGuest): string {
  const taken = new Set(volumesOf(guest).map(({ device }) => device))
  const names = LETTERS.slice(guest.hardware.disks).map((letter) => `/dev/vd${letter}`)
  const free = names.find((name) => !taken.has(name))
  if (free !== undefined) return free
  throw new Failure('conflict', `Instance ${guest.id} has as many disks as a guest can have.`)
}

function reportOf(host: FakeHost, folder: VolumeFolder, id: string): StoreReport {
  const isShared = host.settings.volumeStore !== undefined
  const { volumeStoreName: name, volumeStoreLacks: lacks } = host.settings
  return {
    id,
    name,
    engine: 'fake',
    totalBytes: folder.totalBytes,
    freeBytes: folder.freeBytes(),
    isShared,
    multiattach: true,
    encrypts: true,
    ...(lacks !== undefined && { lacks }),
  }
}

/** At least as large as what it is made from. */
function sizeOf(folder: VolumeFolder, { bytes, from }: VolumeSpec): number {
  if (from === undefined) return bytes
  if ('image' in from) return Math.max(bytes, from.image.sizeBytes)
  // The copy of what has no content has none.
  if ('copy' in from || 'sealedImage' in from) return bytes
  const source = folder.get(from.volume as VolumeId)
  folder.unlock(source.id)
  if ('snapshot' in from && !source.snapshots.includes(from.snapshot))
    throw new Failure('not-found', `Snapshot ${from.snapshot} could not be found in its store.`)
  return Math.max(bytes, source.bytes)
}
