import type { InstanceId } from '#common/ids.ts'
import type { DiskImage } from './driver.ts'

export interface Snapshot {
  /**
   * The root disk as it is at one moment, as an image without a backing file. The guest keeps running. Throws `conflict`
   * for an instance that starts from a volume.
   */
  take(id: InstanceId, signal: AbortSignal): Promise<DiskImage>
}

/**
 * Saves root disks in two passes: most of a disk while its guest runs, and the rest once it is off. A guest is then off for as
 * long as the rest takes.
 */
export interface DiskChanges {
  /**
   * As `Snapshot.take`, and from that moment on the host notes which parts of the disk the guest writes; what was noted before
   * is forgotten. Throws `conflict` for a guest that does not run, and for an instance that starts from a volume.
   */
  begin(id: InstanceId, signal: AbortSignal): Promise<DiskImage>
  /**
   * The parts that the guest has written since, as it has left them: `changes` of an image with the content of `begin`. May be
   * repeated. Throws `conflict` while the guest runs, and where the parts are not known, such as after a loss of power.
   */
  take(id: InstanceId, signal: AbortSignal): Promise<DiskImage>
  /** Afterwards nothing is noted any more; the disk stays as it is. */
  forget(id: InstanceId, signal: AbortSignal): Promise<void>
}
