import { type Cells, isHostUp } from '../app/hosts/host-state.ts'
import type { Zone } from '../app/hosts/hosts.ts'
import type { CellService } from '../app/hosts/services.ts'
import { COMPUTE_BINARY } from '../app/hosts/services.ts'
import type { HostRecord } from '../db/host-list.ts'
import { INTERNAL_ZONE, lastHeartbeatOf } from './service.ts'
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

/** The services of a host, by their binaries. */
type ServicesView = Readonly<
  Record<
    string,
    { readonly active: boolean; readonly available: boolean; readonly updated_at: string | null }
  >
>

/** Where Nova shows its own services; nothing can be put there. */
export function internalZoneView(services: readonly CellService[]) {
  const byHost = Map.groupBy(services, ({ cell }) => cell.name)
  const hosts = [...byHost].map(([name, own]) => {
    const services: ServicesView = Object.fromEntries(
      own.map(({ cell, binary }) => [
        binary,
        { active: true, available: cell.isReachable, updated_at: lastHeartbeatOf(cell) },
      ]),
    )
    return [name, services] as const
  })
  return {
    zoneName: INTERNAL_ZONE,
    zoneState: { available: services.some(({ cell }) => cell.isReachable) },
    hosts: Object.fromEntries<ServicesView>(hosts),
  }
}

function hostServices(host: HostRecord, cells: Cells): ServicesView {
  return {
    [COMPUTE_BINARY]: {
      active: !host.view.isDisabled,
      available: isHostUp(host, cells),
      updated_at: plainTime(new Date(host.view.lastSeenAt)),
    },
  }
}
