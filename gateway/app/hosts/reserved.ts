import type { HostView } from '#openapi/wire/host.ts'

const NOTHING = { vcpus: 0, memoryMb: 0, diskGb: 0 }

/** The amounts that a host keeps for itself. */
export function reservedOf({ inventory }: Pick<HostView, 'inventory'>): typeof NOTHING {
  return inventory?.reserved ?? NOTHING
}
