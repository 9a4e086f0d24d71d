import { Failure } from '#common/errors.ts'
import type { Cell } from '../../cells/cell.ts'
import type { ServerRequest } from './server-request.ts'

export interface Place {
  readonly zone: string | null
  readonly host: string | null
}

/** Whether the requester may choose a host, by Nova's rule for the way it was asked for; throws `forbidden`. */
export type CheckRule = (rule: string) => void

const FORCED_HOST = 'os_compute_api:servers:create:forced_host'
const REQUESTED_HOST = 'os_compute_api:compute:servers:create:requested_destination'

/**
 * The zone and host a request insists on. `zone:host` and a host of its own are for those who may choose hosts.
 * Throws `invalid` for a zone no cell has.
 */
export function placeOf(
  request: Pick<ServerRequest, 'availabilityZone' | 'host' | 'hypervisorHostname'>,
  cells: readonly Cell[],
  checkRule: CheckRule,
): Place {
  const [zone = '', forced = '', node = ''] = (request.availabilityZone ?? '').split(':')
  const forcedHost = named(forced) ?? named(node)
  const requestedHost = request.host ?? request.hypervisorHostname
  if (forcedHost !== null) checkRule(FORCED_HOST)
  if (requestedHost !== null) checkRule(REQUESTED_HOST)
  const host = forcedHost ?? requestedHost
  if (zone !== '') refuseUnknownZone(zone, cells)
  return { zone: named(zone), host }
}

function named(text: string): string | null {
  return text === '' ? null : text
}

function refuseUnknownZone(zone: string, cells: readonly Cell[]): void {
  const isKnown = cells.some(({ summary }) => summary?.zones.includes(zone))
  // A cell that was never heard may have it; whoever is asked then says so.
  const mayBeKnown = cells.some(({ summary }) => summary === undefined)
  if (!isKnown && !mayBeKnown)
    throw new Failure('invalid', 'The requested availability zone is not available')
}
