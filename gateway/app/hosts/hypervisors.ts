import type { Clock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { settledWithin } from '#common/settled-within.ts'
import type { AskCell } from '../../cell-client/client.ts'
import type { CellRegistry } from '../../cell-client/registry.ts'
import { findHost, findHostBySerial, type HostRecord, listHosts } from '../../db/host-list.ts'
import type { RequestContext } from '../request-context.ts'
import { isHostUp } from './host-state.ts'

/** How hosts and their services are named by a client: by number until microversion 2.52, by UUID since. */
export type HostIds = 'number' | 'uuid'

const NUMBER = /^\d{1,9}$/

/** The host; throws `not-found`, and `invalid` for what should be a UUID and is none. */
export async function findHypervisor(db: Executor, id: string, ids: HostIds): Promise<HostRecord> {
  const host = await hostOf(db, id, ids)
  if (host === undefined) throw new Failure('not-found', `Compute host ${id} could not be found.`)
  return host
}

/** The host a client means; undefined when there is none. Throws `invalid` as `findHypervisor`. */
export async function hostOf(
  db: Executor,
  id: string,
  ids: HostIds,
): Promise<HostRecord | undefined> {
  if (ids === 'number') return NUMBER.test(id) ? findHostBySerial(db, Number(id)) : undefined
  if (!isUuid(id)) throw new Failure('invalid', `Invalid uuid ${id}`)
  return findHost(db, id)
}

export interface HypervisorListQuery {
  readonly limit?: number
  readonly marker?: string
  readonly hypervisor_hostname_pattern?: string
}

/**
 * One page of hosts, or all whose hypervisor's name has the pattern in it. Throws `invalid` for an unknown marker and
 * for a pattern together with paging, `not-found` for a pattern that finds nothing.
 */
export async function listHypervisors(
  db: Executor,
  query: HypervisorListQuery,
  { limit, ids }: { readonly limit: number; readonly ids: HostIds },
): Promise<readonly HostRecord[]> {
  const { hypervisor_hostname_pattern: pattern, marker } = query
  if (pattern !== undefined) {
    if (marker !== undefined || query.limit !== undefined)
      throw new Failure(
        'invalid',
        'Paginating with the parameter hypervisor_hostname_pattern is not supported.',
      )
    return searchHypervisors(db, pattern)
  }
  return listHosts(db, { after: await serialOf(db, marker, ids), limit })
}

/** Every host, for sums over all of them. */
export function allHypervisors(db: Executor): Promise<readonly HostRecord[]> {
  return listHosts(db)
}

/** Hosts whose hypervisor's name has the text in it. Throws `not-found` when there is none. */
export async function searchHypervisors(
  db: Executor,
  text: string,
): Promise<readonly HostRecord[]> {
  const hosts = await listHosts(db)
  const found = hosts.filter((host) => hypervisorHostname(host).includes(text))
  if (found.length === 0)
    throw new Failure('not-found', `No hypervisor matching '${text}' could be found.`)
  return found
}

/** The name that the driver reports, or the host's own name before the first report. */
export function hypervisorHostname({ view }: HostRecord): string {
  return view.inventory?.hypervisor.hostname ?? view.name
}

async function serialOf(db: Executor, marker: string | undefined, ids: HostIds): Promise<number> {
  if (marker === undefined) return 0
  const host = await hostOf(db, marker, ids)
  if (host === undefined) throw new Failure('invalid', `marker [${marker}] not found`)
  return host.serial
}

export interface UptimeDeps {
  readonly cells: CellRegistry
  readonly askCell: AskCell
  readonly clock: Clock
}

/** A list waits no longer for all its hosts together. */
const LIST_MS = 2_000

/**
 * How long the host has been up, as its machine says. Throws `unsupported` where its driver cannot tell; `invalid`, as
 * Nova's `os-hypervisors` does, for a host that is down.
 */
export async function hypervisorUptime(
  { cells, askCell }: UptimeDeps,
  context: RequestContext,
  host: HostRecord,
): Promise<string> {
  if (!tellsUptime(host))
    throw new Failure('unsupported', 'The requested functionality is not supported.')
  const cell = cells.cell(host.cellId)
  if (cell === undefined || !isHostUp(host, cells)) throw unavailable(host)
  const ask = { hostId: host.view.hostId }
  try {
    return (await askCell(cell, 'host.uptime', ask, { work: context })).text
  } catch (error) {
    throw isFailure(error, 'unavailable') ? unavailable(host) : error
  }
}

/** The same of many, by host id; a host that cannot tell, is down or does not answer soon has none. */
export async function hypervisorUptimes(
  deps: UptimeDeps,
  context: RequestContext,
  hosts: readonly HostRecord[],
): Promise<ReadonlyMap<string, string>> {
  const uptimes = new Map<string, string>()
  const asked = hosts.filter((host) => tellsUptime(host) && isHostUp(host, deps.cells))
  const all = asked.map(async (host) => {
    uptimes.set(host.view.hostId, await hypervisorUptime(deps, context, host))
  })
  await settledWithin(deps.clock, LIST_MS, Promise.allSettled(all))
  // Those that answer later are not shown.
  return new Map(uptimes)
}

function tellsUptime({ view }: HostRecord): boolean {
  return view.capabilities.includes('uptime')
}

function unavailable({ view }: HostRecord): Failure {
  return new Failure('invalid', `Compute service of ${view.name} is unavailable at this time.`)
}
