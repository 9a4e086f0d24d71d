import { createHash } from 'node:crypto'
import { workContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import { forEachRow, type Reconciler } from '#common/reconciler.ts'
import type { PortFilter } from '#openapi/wire/firewall.ts'
import { type HostRecord, hostsAbleTo } from '../../db/host-list.ts'
import type { ComputeDeps } from '../compute.ts'
import { hostFilters } from '../networks/host-filters.ts'

type Deps = Pick<ComputeDeps, 'db' | 'cells' | 'askCell' | 'log'>

const EVERY_MS = 2_000
/** In one message: it must be small enough for the bus, and its work short enough for an answer. */
const PORTS_MAX = 20

/**
 * Every host that can filter lets through what security groups say, whoever changed what. Each round reads what is
 * wanted of those hosts and tells only what differs from what the host took from this gateway last: a NIC that is
 * still on its way to its host is told again. A gateway that begins tells everything once, and telling the same twice
 * changes nothing.
 */
export function filterPorts(deps: Deps): Reconciler {
  const told = new Map<string, Map<string, string>>()
  const each = { log: deps.log, nameOf: ({ view }: HostRecord) => view.hostId }
  return {
    name: 'filter ports',
    everyMs: EVERY_MS,
    round: async (signal) => {
      const hosts = await hostsAbleTo(deps.db, 'firewall')
      const keys = new Set(hosts.map(keyOf))
      for (const key of told.keys()) if (!keys.has(key)) told.delete(key)
      const wanted = await hostFilters(
        deps.db,
        hosts.map(({ view }) => view.hostId),
      )
      let changed = 0
      await forEachRow(hosts, { ...each, signal }, async (host) => {
        const known = told.get(keyOf(host)) ?? new Map<string, string>()
        told.set(keyOf(host), known)
        changed += await tellHost(deps, host, wanted.get(host.view.hostId) ?? [], known)
      })
      return { changed }
    },
  }
}

/** A host that was started again is told everything again. */
function keyOf({ view }: HostRecord): string {
  return `${view.hostId} ${view.startedAt}`
}

/** Returns how many ports were told; `known` is brought up to date with them. */
async function tellHost(
  deps: Deps,
  host: HostRecord,
  wanted: readonly PortFilter[],
  known: Map<string, string>,
): Promise<number> {
  const digests = new Map(wanted.map((filter) => [filter.nic.portId, digestOf(filter)]))
  for (const portId of known.keys()) if (!digests.has(portId)) known.delete(portId)
  const due = wanted.filter(({ nic }) => known.get(nic.portId) !== digests.get(nic.portId))
  let count = 0
  for (let from = 0; from < due.length; from += PORTS_MAX) {
    const ports = due.slice(from, from + PORTS_MAX)
    const applied = await tell(deps, host, ports)
    if (applied === undefined) break
    for (const portId of applied) known.set(portId, digests.get(portId)!)
    count += applied.length
  }
  return count
}

function digestOf(filter: PortFilter): string {
  return createHash('sha256').update(JSON.stringify(filter)).digest('base64')
}

/** The ports that the host has; undefined for a host that cannot be told now. */
async function tell(
  { cells, askCell }: Deps,
  { cellId, view }: HostRecord,
  ports: PortFilter[],
): Promise<readonly string[] | undefined> {
  const cell = cells.cell(cellId)
  if (cell?.isAlive !== true) return undefined
  try {
    const { applied } = await askCell(
      cell,
      'host.filter-ports',
      { hostId: view.hostId, ports },
      { work: workContext({}) },
    )
    return applied
  } catch (error) {
    if (isFailure(error, 'unavailable', 'conflict', 'not-found', 'unsupported')) return undefined
    throw error
  }
}
