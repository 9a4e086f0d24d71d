import type { WorkContext } from '#common/context.ts'
import type { HostId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'
import { readStores } from '../db/stores.ts'
import { recordReport } from '../hosts/record-report.ts'
import {
  chooseStore,
  type StoreChoice,
  type StoreRequest,
  type StoreState,
} from './choose-store.ts'
import type { Store } from './store.ts'

/** Where a volume may go, the stores that were chosen from, and the trace of a choice that nothing has claimed yet. */
export interface CurrentChoice {
  readonly choice: StoreChoice
  readonly stores: readonly Store[]
  readonly trace: Trace
}

/** So many hosts are asked for one volume. */
const HOSTS_ASKED_MAX = 5

/**
 * Chooses among the cell's stores of `isCandidate`. Hosts report the room in their stores now and then: no volume is refused
 * for an old figure alone, so where no other reason is left, hosts are asked and it is chosen again.
 */
export async function chooseCurrent(
  cell: Cell,
  request: StoreRequest,
  work: WorkContext,
  isCandidate: (store: Store) => boolean = () => true,
): Promise<CurrentChoice> {
  const first = await chooseAsReported(cell, request, isCandidate)
  if (first.choice.places.length > 0) return first
  const states = first.stores.filter(isCandidate).map((store) => stateOf(cell, store))
  const hostIds = hostsOfFullStores(states, request, cell.conductor.storeRatio)
  const asked = await Promise.all(hostIds.map((id) => hasReported(cell, id, work)))
  return asked.includes(true) ? chooseAsReported(cell, request, isCandidate) : first
}

async function chooseAsReported(
  cell: Cell,
  request: StoreRequest,
  isCandidate: (store: Store) => boolean,
): Promise<CurrentChoice> {
  const { db, storeRatio, clock } = cell.conductor
  const stores = await readStores(db)
  const states = stores.filter(isCandidate).map((store) => stateOf(cell, store))
  const beganAt = performance.now()
  const choice = chooseStore(states, request, storeRatio)
  const tookMs = Math.round(performance.now() - beganAt)
  const { considered, filters, scores } = choice
  const decided = { level: 'stores', considered, filters, scores } as const
  const trace = { at: clock.now(), ...decided, lostClaims: [], chosen: null, tookMs }
  return { choice, stores, trace }
}

/** The hosts of the stores that would take the volume if nothing were in them but what the cell knows of. */
function hostsOfFullStores(
  states: readonly StoreState[],
  request: StoreRequest,
  ratio: number,
): readonly HostId[] {
  const emptied = states.map((state) => {
    const { largestVolumeBytes: _, ...rest } = state
    return { ...rest, freeBytes: state.totalBytes }
  })
  const { places } = chooseStore(emptied, request, ratio)
  return [...new Set(places.map(({ hostId }) => hostId))].slice(0, HOSTS_ASKED_MAX)
}

/** True once the cell has written down what the host sees now. */
async function hasReported(
  { conductor }: Cell,
  hostId: HostId,
  work: WorkContext,
): Promise<boolean> {
  try {
    await recordReport(conductor, await askHost(conductor, hostId, 'report', {}, work))
    return true
  } catch (error) {
    conductor.log.warn({ hostId, ...errorFields(error) }, 'room in stores could not be asked for')
    return false
  }
}

/** The store with the hosts that reach it. */
function stateOf({ conductor }: Cell, store: Store): StoreState {
  const { hosts } = conductor
  const known = store.hostIds.flatMap((id) => hosts.get(id) ?? [])
  return {
    ...store,
    hosts: known.map((host) => {
      const { id, name, zone } = host
      return { id, name, zone, isUp: hosts.isUp(host) }
    }),
  }
}
