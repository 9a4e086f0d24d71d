import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { ImageSpec } from './driver.ts'

export interface Rescue {
  /**
   * Afterwards the guest runs from a disk of its own made from the rescue image, and finds its usual disks beside
   * it. An instance in rescue stays as it is. After a failure other than `unavailable` it is as it was before. Throws
   * `invalid` for an instance that starts from a volume if the image does not say what device the rescue disk is to be
   * (`RESCUE_DEVICE`).
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

/**
 * By which an image says that the rescue disk is one more beside the others, which keep their order. Nova asks for both of a
 * server that starts from a volume, and for one of them of any other.
 */
export const RESCUE_DEVICE = ['hw_rescue_device', 'hw_rescue_bus'] as const

/** Throws `invalid` for an image that rescues no instance which starts from a volume. */
export function refuseUnstable(id: InstanceId, image: ImageSpec): void {
  if (RESCUE_DEVICE.every((name) => name in image.properties)) return
  throw new Failure(
    'invalid',
    `Instance ${id} starts from a volume, and image ${image.id} does not have both ${RESCUE_DEVICE.join(' and ')}.`,
  )
}
