import type { InstanceId } from '#common/ids.ts'
import type { ImageSpec } from './driver.ts'

export interface Rescue {
  /**
   * Afterwards the guest runs from a disk of its own made from the rescue image, and finds its usual disks beside
   * it. An instance in rescue stays as it is. After a failure other than `unavailable` it is as it was before. Throws
   * `conflict` for an instance that starts from a volume.
   */
  rescue(id: InstanceId, spec: RescueSpec, signal: AbortSignal): Promise<void>
  /** Afterwards the guest runs from its usual disks, and nothing of the rescue is left. */
  unrescue(id: InstanceId, signal: AbortSignal): Promise<void>
}

export interface RescueSpec {
  readonly image: ImageSpec
  /** In place of the instance's own for as long as the rescue lasts; absent: as it is. */
  readonly configDrive?: Readonly<Record<string, Uint8Array>>
  /** How long the guest may take to shut down by itself. */
  readonly graceMs: number
  /** The password for the administrator of the rescued guest; null: that of the image. */
  readonly adminPassword: string | null
}
