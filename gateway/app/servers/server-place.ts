import { Failure } from '#common/errors.ts'
import type { Cell } from '../../cells/cell.ts'
import type { ServerRequest } from './server-request.ts'

export interface Place {
  readonly zone: string | null
  readonly host: string | null
}

/** Whether the requester may choose a host; throws `forbidden` when not. */
export type MayChooseHost = () => void

/**
 * The zone and host a request insists on. `zone:host` and a host of its own are for those who may choose hosts.
 * Throws `invalid` for a zone no cell has.
 */
export function placeOf(
  request: Pick<ServerRequest, 'availabilityZone' | 'host' | 'hypervisorHostname'>,
  cells: readonly Cell[],
  mayChooseHost: MayChooseHost,
): Place {
  const [zone = '', forced = '', node = ''] = (request.availabilityZone ?? '').split(':')
  const host = named(forced) ?? named(node) ?? request.host ?? request.hypervisorHostname
  if (host !== null) mayChooseHost()
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
