import { type Cells, isHostUp } from '../app/hosts/host-state.ts'
import type { CellService } from '../app/hosts/services.ts'
import { COMPUTE_BINARY } from '../app/hosts/services.ts'
import type { RequestContext } from '../app/request-context.ts'
import type { Cell } from '../cell-client/cell.ts'
import type { HostRecord } from '../db/host-list.ts'
import { hostRecordId } from './hypervisor.ts'
import { isSince } from './since.ts'
import { plainTime } from './time.ts'

/** A host's service at its widest; complete and down while its cell is unreachable. */
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

/** The zone that Nova shows its own services in (`internal_service_availability_zone`). */
export const INTERNAL_ZONE = 'internal'

/** A service of a cell; down while the cell is unreachable. */
export function cellServiceView(
  { cell, binary, number, uuid }: CellService,
  context: RequestContext,
) {
  return {
    id: isSince(context, '2.53') ? uuid : number,
    binary,
    host: cell.name,
    zone: INTERNAL_ZONE,
    status: 'enabled' as const,
    state: cell.isReachable ? ('up' as const) : ('down' as const),
    updated_at: lastHeartbeatOf(cell),
    disabled_reason: null,
    forced_down: false,
  }
}

export function lastHeartbeatOf({ lastHeartbeatAt }: Cell): string | null {
  return lastHeartbeatAt === undefined ? null : plainTime(new Date(lastHeartbeatAt))
}
