import type { AttachmentId, InstanceId, VolumeId, VolumeSnapshotId } from '#common/ids.ts'
import type { StoreLack } from '#openapi/wire/volume.ts'
import type { DiskImage, ImageFile, ImageSpec } from './driver.ts'

/**
 * Block storage of the stores that a host reaches. Each method may be repeated. Every object in a store carries the
 * stamp of its cell, and a driver lists and destroys only those. `unavailable` means that the outcome is unknown.
 */
export interface Volumes {
  /** The stores that this host reaches now. A store that does not answer is left out within seconds. */
  stores(signal: AbortSignal): Promise<readonly StoreReport[]>
  /**
   * Afterwards the volume is in its store, whole and of at least that size; a half of one is made again. Throws
   * `no-capacity` when the store has no room, `not-found` for a source there is not, `conflict` for a source that a guest
   * of another host may write, and `unsupported` for an encrypted one in a store that encrypts nothing; a failure leaves
   * no part behind.
   */
  create(spec: VolumeSpec, signal: AbortSignal): Promise<void>
  /** Afterwards nothing of the volume is left. Throws `conflict` while a guest has it open, or it has snapshots. */
  destroy(volume: VolumeRef, signal: AbortSignal): Promise<void>
  /** Every volume of the store with this cell's stamp that is whole. Throws `not-found` for a store that is not here. */
  list(store: string, signal: AbortSignal): Promise<readonly VolumeReport[]>
  /**
   * Afterwards the volume has at least that size, and the guests of this host that have it see that. A smaller size
   * changes nothing. Throws `no-capacity`.
   */
  extend(volume: VolumeRef, bytes: number, signal: AbortSignal): Promise<void>
  /**
   * Afterwards the snapshot holds the volume's content of one moment, also of a volume that a guest of this host uses.
   * Throws `conflict` while a guest of another host may write it, or guests share it, where the store itself makes none.
   */
  snapshot(volume: VolumeRef, snapshot: VolumeSnapshotId, signal: AbortSignal): Promise<void>
  /**
   * The volume's content of one moment, as an image without a backing file, also of a volume that a guest of this host
   * uses. Throws as `snapshot`, `no-capacity` where a copy finds no room, and `unsupported` for an encrypted volume unless it is
   * to be `isSealed`: then the image holds the content as it is encrypted, and no guest may have the volume.
   */
  export(
    volume: VolumeRef,
    format: VolumeFormat,
    signal: AbortSignal,
    how?: { readonly isSealed?: boolean | undefined },
  ): Promise<DiskImage>
  /**
   * Afterwards the volume has the content of its snapshot, and its size still; what came after the snapshot's end is zeros.
   * A failure leaves it as it was. Throws `conflict` while a guest has it, `not-found`, and `no-capacity` where a copy
   * finds no room.
   */
  revert(volume: VolumeRef, snapshot: VolumeSnapshotId, signal: AbortSignal): Promise<void>
  /**
   * Afterwards the volume has the content of the image, and its size still; behind the image's end there are zeros, and noise
   * where it is encrypted. A failure leaves it as it was, or no guest gets it until a repeat has made it whole. Throws `invalid`
   * for an image that is larger, `conflict` while a guest has the volume, and `not-found`.
   */
  reimage(volume: VolumeRef, image: VolumeImage, signal: AbortSignal): Promise<void>
  /** Afterwards the snapshot is gone; volumes that were made from it keep their content. */
  destroySnapshot(volume: VolumeRef, snapshot: VolumeSnapshotId, signal: AbortSignal): Promise<void>
  /**
   * Afterwards the instance has the volume, now and at every start. Returns the name that the guest most likely gives
   * it, such as `/dev/vdb`. Throws `conflict` when another guest has it open and not both share it, and for a suspended
   * instance.
   */
  attach(id: InstanceId, attachment: AttachmentSpec, signal: AbortSignal): Promise<string>
  /**
   * Afterwards the instance does not have the volume, neither now nor at its next start. Throws `conflict` when the
   * guest does not release it in time: it has it until it does or starts again, `list` says when, and a repeat continues;
   * for a suspended instance; and for the disk from which the guest starts.
   */
  detach(id: InstanceId, attachment: AttachmentId, signal: AbortSignal): Promise<void>
  /** Absent: the driver encrypts no volumes. */
  readonly keys?: VolumeKeys
  /** Absent: the driver gives no volume to another store of its cell. */
  readonly carry?: VolumeCarry
  /** Absent: a guest keeps the volume that it has until it is detached. */
  readonly swap?: VolumeSwap
}

/**
 * Exchanges a volume of a guest that runs for another one, with its content. `to` names the other volume, and the attachment, which
 * stays with its device name, its tag and its place among the disks. Each method may be repeated, and each failure but `unavailable`
 * means that the guest has the volume that it had before, and that the other one is let go.
 */
export interface VolumeSwap {
  /**
   * Afterwards the other volume has all that the guest's has, and each write of the guest goes to both. Throws `conflict` for a guest
   * that does not run or whose memory is saved, and for a volume that another guest has; `invalid` for one that is smaller;
   * `not-found` for an attachment, a volume or a store there is not.
   */
  copy(id: InstanceId, to: AttachmentSpec, signal: AbortSignal): Promise<void>
  /**
   * Afterwards the guest has the other volume, now and at every start, and not the one before. Throws `conflict` where the copy has
   * ended meanwhile, such as with the guest.
   */
  pivot(id: InstanceId, to: AttachmentSpec, signal: AbortSignal): Promise<void>
  /** Afterwards the guest has its volume alone, and the other one is let go. Throws `conflict` once the guest has the other one. */
  cancel(id: InstanceId, to: AttachmentSpec, signal: AbortSignal): Promise<void>
}

/**
 * Carries the content of volumes to stores that this host or another one of its cell reaches. The caller reads a copy on one
 * host and writes it on the other, so the hosts need not reach each other. The copy of an encrypted volume is encrypted as
 * its store has it. Each method may be repeated.
 */
export interface VolumeCarry {
  /**
   * Afterwards this host has the copy, to be read, and as a source; with `sealAs`, that of a volume that is not encrypted is, by
   * the key of the volume. Throws `conflict` while a guest has the volume.
   */
  pack(
    volume: VolumeRef,
    copy: string,
    signal: AbortSignal,
    how?: { readonly sealAs?: VolumeEncryption | undefined },
  ): Promise<void>
  /** Throws `not-found` for a copy that is not here. */
  read(copy: string, part: CopyPart, signal: AbortSignal): Promise<CopyBytes>
  /** Afterwards this host has these bytes of the copy. Throws `no-capacity` where they find no room. */
  write(copy: string, offset: number, bytes: Uint8Array, signal: AbortSignal): Promise<void>
  /** Afterwards nothing of the copy is here. */
  drop(copy: string, signal: AbortSignal): Promise<void>
}

export interface CopyPart {
  readonly offset: number
  readonly maxBytes: number
}

export interface CopyBytes {
  /** Fewer than were asked for at the end. */
  readonly bytes: Uint8Array
  /** Of the whole copy. */
  readonly sizeBytes: number
}

/** A copy that is whole if it has this size. */
export interface CopyRef {
  readonly id: string
  readonly sizeBytes: number
}

/**
 * The keys of encrypted volumes, which a driver keeps in memory alone. What makes or reads the content of such a volume,
 * or starts a guest that has it, needs its key meanwhile, and throws `conflict` without.
 */
export interface VolumeKeys {
  /** Afterwards the driver can open these volumes, at least until this holder drops them. */
  hold(holder: string, keys: readonly VolumeKey[], signal: AbortSignal): Promise<void>
  /** Afterwards the driver has none of the holder's keys but those that another holder needs. */
  drop(holder: string, signal: AbortSignal): Promise<void>
}

export interface VolumeKey {
  readonly id: VolumeId
  /** A random passphrase. */
  readonly key: string
}

/** How a volume is encrypted: LUKS, with AES in XTS mode. */
export interface VolumeEncryption {
  readonly keyBits: 128 | 256
}

/** Formats in which a volume's content is given away, by Glance's names. */
export type VolumeFormat = 'raw' | 'qcow2'

/** One storage engine as seen from a host. */
export interface StoreReport {
  /** The same on every host that reaches this store, and on no other store: found in the engine, never configured. */
  readonly id: string
  /** Its name for operators, such as that of the libvirt pool. */
  readonly name: string
  /** The kind of engine: `dir`, `rbd`, `iscsi`, `fake`. */
  readonly engine: string
  readonly totalBytes: number
  readonly freeBytes: number
  /** The largest volume that it can take now, where that is less than what is free; absent: it can take what is free. */
  readonly largestVolumeBytes?: number
  /** Other hosts may reach it too. */
  readonly isShared: boolean
  /** A volume may be attached to several servers at a time. */
  readonly multiattach: boolean
  /** Volumes in it can be encrypted, with keys that its host is given for the time that it needs them. */
  readonly encrypts: boolean
  /** What its engine cannot do; absent: nothing is known that it could not. */
  readonly lacks?: readonly StoreLack[]
}

/** A volume that an instance has not any more: its guest has released it after the detach had been given up. A repeat of the detach ends this. */
export interface ReleasedVolume {
  readonly id: VolumeId
  readonly attachmentId: AttachmentId
}

export interface VolumeRef {
  readonly store: string
  readonly id: VolumeId
}

export interface VolumeSpec extends VolumeRef {
  readonly bytes: number
  /** Absent: it is not encrypted. */
  readonly encryption?: VolumeEncryption
  /** The content to begin with; absent: zeros, and noise where it is encrypted. */
  readonly from?:
    | { readonly image: VolumeImage }
    /** The content of the volume itself, as `export` has it of an encrypted one; its own key opens it. */
    | { readonly sealedImage: VolumeImage }
    | { readonly volume: VolumeId }
    | { readonly volume: VolumeId; readonly snapshot: VolumeSnapshotId }
    /**
     * One of this host, of the same volume in another store. It is encrypted as the volume, or as `sealedAs` says; the key is that
     * of the volume.
     */
    | { readonly copy: CopyRef; readonly sealedAs?: VolumeEncryption }
}

/** An image as the content of a volume. What backends need that make an image of it in another cloud may be unknown. */
export type VolumeImage = ImageFile &
  Pick<ImageSpec, 'diskFormat'> &
  Partial<Pick<ImageSpec, 'name' | 'minDiskGb' | 'minRamMb' | 'properties'>>

export interface VolumeReport {
  readonly id: VolumeId
  readonly bytes: number
  readonly snapshots: readonly VolumeSnapshotId[]
}

/** Whether the first disk of a guest with these volumes is one of them. */
export function startsFromVolume({
  volumes = [],
}: {
  readonly volumes?: readonly AttachmentSpec[] | undefined
}): boolean {
  return volumes.some(({ isRoot }) => isRoot === true)
}

export interface AttachmentSpec extends VolumeRef {
  readonly attachmentId: AttachmentId
  readonly isReadOnly: boolean
  /** Other guests may have it at the same time. */
  readonly isShared: boolean
  /** By which the guest finds it in its metadata; absent: none. */
  readonly tag?: string
  /** It is the first disk of its guest, from which that starts, and stays with it; absent: it is not. */
  readonly isRoot?: true
}
