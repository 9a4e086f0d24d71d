import { type Cells, isHostUp } from '../../app/hosts/host-state.ts'
import type { HostRecord } from '../../db/host-list.ts'
import { resources } from './resources.ts'

/** A host as the federation API shows it. */
export function hostView(host: HostRecord, cells: Cells) {
  const { cellId, view } = host
  return {
    id: view.hostId,
    name: view.name,
    cell_id: cellId,
    zone: view.zone,
    driver: view.driver,
    is_simulated: view.simulated,
    capabilities: view.capabilities,
    is_up: isHostUp(host, cells),
    down_reason: view.down,
    is_cordoned: view.isDisabled,
    cordon_reason: view.disabledReason,
    last_seen_at: new Date(view.lastSeenAt).toISOString(),
    total: view.inventory === null ? null : resources(view.inventory),
    used: resources(view.used),
    ratios: resources(view.ratios),
    servers: view.used.instances,
  }
}

/** Changes with everything its cell says of the host. */
export function hostTag({ view }: HostRecord): string {
  return `"${view.version}"`
}
