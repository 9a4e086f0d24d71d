import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { Cell } from '../../../cell-client/cell.ts'
import { cellsWithHost } from '../../../db/host-index.ts'
import { cellsAsIndexed } from '../../cells/cells-as-indexed.ts'
import type { ServerRequest } from './server-request.ts'

export interface Place {
  readonly zone: string | null
  readonly host: string | null
  /** Named together with a zone: as in Nova the name is not checked, and an unknown name fits no host. */
  readonly isForced: boolean
}

const FORCED_HOST = 'os_compute_api:servers:create:forced_host'
const REQUESTED_DESTINATION = 'compute:servers:create:requested_destination'

/**
 * The zone and host that a request requires. `zone:host` and a host of its own are for callers whom `enforce` lets;
 * it throws `forbidden` for others. Throws `invalid` for a zone no cell has.
 */
export function placeOf(
  request: Pick<ServerRequest, 'availabilityZone' | 'host' | 'hypervisorHostname'>,
  cells: readonly Cell[],
  enforce: (rule: string) => void,
): Place {
  const [zone = '', forced = '', node = ''] = (request.availabilityZone ?? '').split(':')
  const forcedHost = named(forced) ?? named(node)
  const wantedHost = request.host ?? request.hypervisorHostname
  if (forcedHost !== null) enforce(FORCED_HOST)
  if (wantedHost !== null) enforce(REQUESTED_DESTINATION)
  // A forced host determines the zone; the zone before it in the request is ignored (nova/compute/api.py,
  // `_create_instance`).
  if (forcedHost !== null) return { zone: null, host: forcedHost, isForced: true }
  if (zone !== '') refuseUnknownZone(zone, cells)
  return { zone: named(zone), host: wantedHost, isForced: false }
}

function named(text: string): string | null {
  return text === '' ? null : text
}

/** Throws `invalid` for a host that was asked for by its name alone and that no cell has. */
export async function refuseUnknownHost(db: Executor, { host, isForced }: Place): Promise<void> {
  if (host === null || isForced || (await cellsWithHost(db, host)).size > 0) return
  throw new Failure('invalid', `Compute host ${host} could not be found.`)
}

/** The cells among which a boot looks for a place: by their last summaries, or by the index if none of those has the zone. */
export async function cellsForPlace(
  db: Executor,
  cells: readonly Cell[],
  availabilityZone: string | null,
): Promise<readonly Cell[]> {
  const [zone = ''] = (availabilityZone ?? '').split(':')
  const isKnown = zone === '' || cells.some(({ summary }) => summary?.zones.includes(zone))
  return isKnown ? cells : cellsAsIndexed(db, cells)
}

function refuseUnknownZone(zone: string, cells: readonly Cell[]): void {
  const isKnown = cells.some(({ summary }) => summary?.zones.includes(zone))
  // A cell without heartbeats yet may have the host; the cell refuses the request if it does not.
  const mayBeKnown = cells.some(({ summary }) => summary === undefined)
  if (!isKnown && !mayBeKnown)
    throw new Failure('invalid', 'The requested availability zone is not available')
}
