import { POWER_STATES } from '#common/states/instance-states.ts'
import type { UnmanagedGuest } from '#openapi/wire/host.ts'

const POWER_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(POWER_STATES).map(([name, number]) => [number, name]),
)

/** An unmanaged guest as the federation API shows it. */
export function unmanagedGuestView({
  id,
  name,
  powerState,
  vcpus,
  memoryMb,
  rootGb,
}: UnmanagedGuest) {
  return {
    id,
    name,
    power_state: POWER_NAMES.get(powerState) ?? 'nostate',
    vcpus,
    memory_mb: memoryMb,
    disk_gb: rootGb,
  }
}
