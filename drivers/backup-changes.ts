import type { InstanceId } from '#common/ids.ts'
import type { DiskImage } from './driver.ts'

/** What a backup has to be sent of a root disk. */
export interface SavedBackup {
  readonly disk: DiskImage
  /** False: `disk` has what was written since the backup that was named, and no more. */
  readonly isWhole: boolean
}

/** Saves root disks again and again, each time only what was written since the time before, while their guests run or are off. */
export interface BackupChanges {
  /**
   * The root disk as it is at one moment, and from that moment on the host notes under `name` what is written. Where it has
   * noted that under `since`, the answer has only these parts, as an image of the size of the disk without all others. What
   * was noted under other names stays. Throws `conflict` for an instance that starts from a volume.
   */
  take(
    id: InstanceId,
    asked: { readonly name: string; readonly since: string | null },
    signal: AbortSignal,
  ): Promise<SavedBackup>
  /** Afterwards it is noted under that name alone what is written, if it was; null: under none. The disk stays as it is. */
  keep(id: InstanceId, name: string | null, signal: AbortSignal): Promise<void>
}
