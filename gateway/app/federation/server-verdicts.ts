import type { CellAnswer } from '#openapi/wire/cell.ts'
import type { InstanceMapping } from '../../db/instance-mappings.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'

/** `unknown`: the cell cannot be asked now, or the server is being changed. */
export interface Verdict {
  readonly result: 'ok' | 'failed' | 'unknown'
  readonly detail: string
}

export type Audit = CellAnswer<'instance.audit'>
type Shown = Pick<ServerRecord, 'cellId' | 'attempt' | 'vmState' | 'host'>

export const ok = (detail: string): Verdict => ({ result: 'ok', detail })
export const failed = (detail: string): Verdict => ({ result: 'failed', detail })
export const unknown = (detail: string): Verdict => ({ result: 'unknown', detail })

/** Whether it is shown where it is mapped to. */
export function mappingVerdict(
  shown: Shown,
  mapped: Pick<InstanceMapping, 'cellId' | 'attempt'> | undefined,
  nameOf: (cellId: string) => string,
): Verdict {
  if (mapped === undefined) return failed('it is shown, and mapped to no cell')
  const text = ({ cellId, attempt }: Pick<Shown, 'cellId' | 'attempt'>) =>
    cellId === null ? 'in no cell' : `in cell ${nameOf(cellId)}, attempt ${attempt}`
  const [is, should] = [text(shown), text(mapped)]
  return is === should ? ok(is) : failed(`shown ${is}; mapped ${should}`)
}

/** Whether the cell has the server as the gateways show it. */
export function cellVerdict({ attempt, vmState, host }: Shown, { view }: Audit): Verdict {
  if (view === null) return failed('its cell does not have it')
  const shown = `attempt ${attempt}, ${vmState}, on ${host ?? 'no host'}`
  const kept = `attempt ${view.attempt}, ${view.vmState}, on ${view.host ?? 'no host'}`
  return shown === kept ? ok(kept) : failed(`its cell says ${kept}; shown is ${shown}`)
}

/** Whether room is held for it where it is, and nowhere else. */
export function claimVerdict({ view, heldOn }: Audit): Verdict {
  const hostId = view?.hostId ?? null
  const others = heldOn.filter((each) => each !== hostId)
  if (others.length > 0) return failed(`held on ${others.join(', ')}, where it is not`)
  if (hostId === null) return ok('none is needed')
  return heldOn.includes(hostId) ? ok(`on ${view?.host}`) : failed(`none is held on ${view?.host}`)
}

/** Whether its host has what the cell says. `powerState` null: no such guest. */
export function guestVerdict(
  { host, powerState: kept }: Pick<NonNullable<Audit['view']>, 'host' | 'powerState'>,
  powerState: number | null,
): Verdict {
  if (powerState === null) return failed(`${host} has no such guest`)
  if (powerState === kept) return ok(`on ${host}, as its cell says`)
  return failed(`${host} says power state ${powerState}, its cell ${kept}`)
}
