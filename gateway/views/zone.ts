import { type Cells, isHostUp } from '../app/hosts/host-state.ts'
import type { Zone } from '../app/hosts/list-zones.ts'
import { COMPUTE_BINARY } from '../app/hosts/set-service.ts'
import type { HostRecord } from '../db/host-list.ts'
import { plainTime } from './time.ts'

/** A zone as everybody sees it. */
export function zoneView({ name, isAvailable }: Zone) {
  return { zoneName: name, zoneState: { available: isAvailable }, hosts: null }
}

/** A zone with its hosts and their services, for administrators. */
export function zoneDetailView(zone: Zone, cells: Cells) {
  const hosts = zone.hosts.map((host) => [host.view.name, hostServices(host, cells)] as const)
  return { ...zoneView(zone), hosts: Object.fromEntries(hosts) }
}

function hostServices(host: HostRecord, cells: Cells) {
  return {
    [COMPUTE_BINARY]: {
      active: !host.view.isDisabled,
      available: isHostUp(host, cells),
      updated_at: plainTime(new Date(host.view.lastSeenAt)),
    },
  }
}
