import { type Cells, isHostUp } from '../app/hosts/host-state.ts'
import { COMPUTE_BINARY } from '../app/hosts/set-service.ts'
import type { RequestContext } from '../app/request-context.ts'
import type { HostRecord } from '../db/host-list.ts'
import { hostRecordId } from './hypervisor.ts'
import { plainTime } from './time.ts'

/** A host's service at its widest; complete and down while its cell is silent. */
export function serviceView(host: HostRecord, context: RequestContext, cells: Cells) {
  const { view } = host
  return {
    id: hostRecordId(host, context),
    binary: COMPUTE_BINARY,
    host: view.name,
    zone: view.zone,
    status: view.isDisabled ? ('disabled' as const) : ('enabled' as const),
    state: isHostUp(host, cells) ? ('up' as const) : ('down' as const),
    updated_at: plainTime(new Date(view.lastSeenAt)),
    disabled_reason: view.disabledReason,
    forced_down: view.isForcedDown,
  }
}
