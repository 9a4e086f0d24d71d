import type { InstanceId } from '#common/ids.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { InstanceSpec } from './driver.ts'

/** Takes in guests that were on the backend before, or beside, Weir. */
export interface Adopt {
  /** Guests of nobody: neither this owner's nor another's. */
  unmanagedGuests(signal: AbortSignal): Promise<readonly UnmanagedGuest[]>
  /**
   * Afterwards the guest with the instance's id is this owner's, and nothing else about it has changed: returned is its
   * power state. May be repeated. Throws `not-found`, `conflict` for one that is another's; then it is nobody's, or
   * another's, as before.
   */
  adopt(spec: InstanceSpec, signal: AbortSignal): Promise<PowerState>
}

/** What is seen of a guest from outside. Memory in MiB, disk in GiB; null: not shown. */
export interface UnmanagedGuest {
  /** The backend's own UUID of it, and that of the server it becomes. */
  readonly id: InstanceId
  readonly name: string
  readonly powerState: PowerState
  readonly vcpus: number | null
  readonly memoryMb: number | null
  readonly rootGb: number | null
  /** What those who made it have said of it; absent where nothing can be said. */
  readonly metadata?: Readonly<Record<string, string>>
  readonly tags?: readonly string[]
}
