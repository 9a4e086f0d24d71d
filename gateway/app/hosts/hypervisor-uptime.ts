import type { Clock } from '#common/clock.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { settledWithin } from '#common/settled-within.ts'
import type { AskCell } from '../../cells/client.ts'
import type { CellRegistry } from '../../cells/registry.ts'
import type { HostRecord } from '../../db/host-list.ts'
import type { RequestContext } from '../request-context.ts'
import { isHostUp } from './host-state.ts'

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
