import type { Digests } from '#common/content-digests.ts'
import type { CellId, HostId } from '#common/ids.ts'
import type { Logger } from '#common/log.ts'
import type { DiskImage, Driver, HostInventory, InstanceReport } from '#drivers/driver.ts'
import type { HostOffer } from '#openapi/wire/host.ts'
import type { ImageTarget } from '../images/image-client.ts'
import type { Fence } from './fence.ts'
import type { Attempts } from './guests/attempts.ts'
import type { InstanceWorkQueue } from './guests/instance-work-queue.ts'
import type { KeptDisks } from './kept-disks.ts'
import type { MetadataStore } from './metadata/metadata-store.ts'

/** Where the disks of servers are saved. */
export interface ImageFiller {
  /** Afterwards the image is active with the disk's content, or, where the answer is false, with that of an earlier request. */
  fill(target: ImageTarget, disk: DiskImage, signal: AbortSignal): Promise<boolean>
  /**
   * Afterwards the image is active: with what the host keeps, unless it was with something else before. Throws `unavailable` where
   * it may be, or become so; any other failure says that it is not, and that the content is to be sent.
   */
  keep(target: ImageTarget, saved: SavedDisk, signal: AbortSignal): Promise<KeptAnswer>
  /** Whether the image still has what the host keeps. Throws `unavailable` where no gateway says, and `unauthenticated`. */
  isKept(
    target: Pick<ImageTarget, 'imageId' | 'ticket'>,
    hostId: HostId,
    signal: AbortSignal,
  ): Promise<boolean>
}

/** A disk that a host has saved and can keep. */
export interface SavedDisk extends Pick<DiskImage, 'diskFormat' | 'sizeBytes'>, Digests {
  readonly hostId: HostId
}

export interface KeptAnswer {
  /** The image has the content that the host keeps. */
  readonly isKept: boolean
  /** It has it since this request. */
  readonly isFilled: boolean
}

export interface Host {
  readonly id: HostId
  readonly cellId: CellId
  readonly name: string
  /** Where it is in its network, for operators. */
  readonly address: string
  /** Null: the cell's own zone. */
  readonly zone: string | null
  /** What its operator says of its inventory. */
  readonly offer: HostOffer
}

/** One host's compute: what its operations work with. It has a driver and the bus, and no database. */
export interface Compute {
  readonly host: Host
  readonly driver: Driver
  readonly images: ImageFiller
  readonly keptDisks: KeptDisks
  readonly attempts: Attempts
  readonly fence: Fence
  readonly workQueue: InstanceWorkQueue
  /** What the metadata service tells guests; undefined where the driver leads none of their requests here. */
  readonly metadata: MetadataStore | undefined
  readonly log: Logger
  readonly startedAt: number
  /** Longer work is answered with 'working', and asked after again. */
  readonly answerWithinMs: number
  /** The most guests in one report; the cell requests the others. */
  readonly reportedGuestsMax: number
  /** As last seen; null until the backend has been seen once. */
  lastInventory: HostInventory | null
  /** What the last look at the backend found; null before the first. */
  lastReport: LastReport | null
}

export interface LastReport {
  /** Why the backend cannot be used; null while it can. */
  readonly down: string | null
  readonly guests: readonly Pick<InstanceReport, 'powerState'>[]
}
