import type { Zone } from '../../app/hosts/hosts.ts'

/** A zone as the network service shows it. */
export function networkZoneView({ name, isAvailable }: Zone) {
  return {
    name,
    resource: 'network' as const,
    state: isAvailable ? ('available' as const) : ('unavailable' as const),
  }
}
