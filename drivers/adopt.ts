import type { InstanceId } from '#common/ids.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { InstanceSpec } from './driver.ts'

/** Takes in guests that were on the backend before, or beside, Weir. */
export interface Adopt {
  /** Unmanaged guests: those of no owner, neither this one nor another. */
  unmanagedGuests(signal: AbortSignal): Promise<readonly UnmanagedGuest[]>
  /**
   * Afterwards the guest with the instance's id is this owner's, and nothing else about it has changed; returns its
   * power state. May be repeated. Throws `not-found`, `conflict` for a guest of another owner; on failure the guest's
   * owner is as before.
   */
  adopt(spec: InstanceSpec, signal: AbortSignal): Promise<PowerState>
}

/** A guest as its backend shows it from outside. Memory in MiB, disk in GiB; null: not shown. */
export interface UnmanagedGuest {
  /** The backend's own UUID of the guest, and that of the server it becomes. */
  readonly id: InstanceId
  readonly name: string
  readonly powerState: PowerState
  readonly vcpus: number | null
  readonly memoryMb: number | null
  readonly rootGb: number | null
  /** Metadata that the guest's creator stored in the backend; absent where the backend stores none. */
  readonly metadata?: Readonly<Record<string, string>>
  readonly tags?: readonly string[]
}
