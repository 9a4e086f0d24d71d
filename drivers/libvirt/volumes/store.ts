import { Failure } from '#common/errors.ts'
import type { VolumeId, VolumeSnapshotId } from '#common/ids.ts'
import { IMAGE_FORMATS, type ImageFormat } from '../../image-header.ts'
import type { DiskTarget } from '../../qemu-img.ts'
import type {
  AttachmentSpec,
  StoreReport,
  VolumeImage,
  VolumeReport,
  VolumeSpec,
} from '../../volumes.ts'
import type { AttachedVolume, VolumeSource } from './volume-device.ts'

/**
 * What a host does in a store; each kind of storage pool has its own way. Methods throw `not-found` for a volume or
 * snapshot that is not there, unless they say otherwise, and `unavailable` where the store does not answer in time.
 */
export interface VolumeStore {
  /** Where a guest's disk finds the volume; one that is not there need not be a failure. */
  sourceOf(id: VolumeId, signal: AbortSignal): Promise<VolumeSource>
  sizeOf(id: VolumeId, signal: AbortSignal): Promise<number>
  list(signal: AbortSignal): Promise<readonly VolumeReport[]>
  snapshotsOf(id: VolumeId, signal: AbortSignal): Promise<readonly VolumeSnapshotId[]>
  /** Throws `no-capacity` for a size that the store could never hold. */
  refuseTooLarge(bytes: number, signal: AbortSignal): Promise<void>
  /** Throws `no-capacity` for a size that the volume could never have, and `conflict` while a guest has it that would not see that. */
  refuseGrowth(id: VolumeId, bytes: number, signal: AbortSignal): Promise<void>
  /** Afterwards the volume, which was not there, is whole and of at least that size; a failure leaves no part of it. */
  make(spec: VolumeSpec, signal: AbortSignal): Promise<void>
  /** Afterwards the volume is gone, with all its parts. No program may have it open. */
  remove(id: VolumeId, signal: AbortSignal): Promise<void>
  /** Afterwards the volume has this size, which is larger than it was; guests are not told. */
  grow(id: VolumeId, bytes: number, signal: AbortSignal): Promise<void>
  snapshot(id: VolumeId, snapshot: VolumeSnapshotId, signal: AbortSignal): Promise<void>
  /** One that is not there is no failure. */
  removeSnapshot(id: VolumeId, snapshot: VolumeSnapshotId, signal: AbortSignal): Promise<void>
  /** Afterwards `to` has the volume's content of one moment; that of an encrypted volume is encrypted as it is in the store. */
  copyTo(to: DiskTarget, id: VolumeId, signal: AbortSignal): Promise<void>
  /** Afterwards the volume, which no guest has, has the content of its snapshot, and its size still. */
  revert(id: VolumeId, snapshot: VolumeSnapshotId, signal: AbortSignal): Promise<void>
  /**
   * Afterwards the volume has the content of an image, which is no larger, and its size still; behind the image's end there are
   * zeros, and noise where it is encrypted. No guest gets a volume that is half written, and a repeat makes it whole. Throws
   * `conflict` while a guest has it, but for the one that does not have it open.
   */
  reimage(reimage: StoreReimage, signal: AbortSignal): Promise<void>
  /** Throws `conflict` while a guest, on whichever host, has the volume open. */
  refuseOpen(id: VolumeId, signal: AbortSignal): Promise<void>
  /**
   * Asked before a guest opens the volume. Throws `conflict` while another has it open and not both share it; does
   * nothing in stores whose volumes QEMU itself locks.
   */
  admit(volume: AttachedVolume, signal: AbortSignal): Promise<void>
  /** Asked before a guest that is off gets the volume. Throws `conflict` while another has it open and not both share it. */
  reserve(volume: AttachedVolume, signal: AbortSignal): Promise<void>
  /** The guest is about to move here while it runs; does nothing in stores that know by themselves who has a volume. */
  expect(volume: AttachmentSpec, signal: AbortSignal): Promise<void>
  /** The guest moves here from another host, which has let it go; does nothing in stores that know by themselves who has a volume. */
  follow(volume: AttachedVolume, signal: AbortSignal): Promise<void>
  /** The guest is without the volume; does nothing in stores that know by themselves who has a volume. */
  release(volume: AttachmentSpec, signal: AbortSignal): Promise<void>
  /**
   * Afterwards guests of a host that is down, which may only be cut off, do not write the volume any more; does nothing in
   * stores whose volumes QEMU itself locks. Stores that cannot see to that throw `conflict` while such a guest has it, unless
   * its host was powered off.
   */
  fence(volume: AttachedVolume, sourceIsOff: boolean, signal: AbortSignal): Promise<void>
}

export interface StoreReimage {
  readonly id: VolumeId
  readonly image: VolumeImage
  /** As the guest has it whose first disk it is, and which is off; absent: no guest has it. */
  readonly root?: AttachedVolume
}

/** For a size that a store has not even when it is empty. */
export function tooLarge(
  { name, totalBytes }: Pick<StoreReport, 'name' | 'totalBytes'>,
  bytes: number,
): Failure {
  return new Failure('no-capacity', 'The store has no room for the volume.', {
    detail: `storage pool ${name} has ${totalBytes} bytes, and ${bytes} are needed`,
  })
}

/** The format of an image that a volume is made from. Throws `invalid` for another one than QEMU converts safely. */
export function formatOfSource({ id, diskFormat }: VolumeImage): ImageFormat {
  const format = IMAGE_FORMATS.find((known) => known === diskFormat)
  if (format !== undefined) return format
  throw new Failure(
    'invalid',
    `Image ${id} has disk format ${diskFormat}; volumes are made from ${IMAGE_FORMATS.join(' and ')}.`,
  )
}

const SECTOR = 512

/** A size in bytes, in whole sectors. */
export function inSectors(bytes: number): number {
  return Math.ceil(bytes / SECTOR) * SECTOR
}
