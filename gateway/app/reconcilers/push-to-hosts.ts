import { createHash } from 'node:crypto'
import { workContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import { forEachRow, type Reconciler } from '#common/reconciler.ts'
import type { PortFilter } from '#openapi/wire/firewall.ts'
import type { ServerLabels } from '#openapi/wire/labels.ts'
import type { CellRef } from '../../cell-client/client.ts'
import { type HostRecord, hostsAbleTo } from '../../db/host-list.ts'
import { guestLabelsOnHost, labelsOnHost } from '../../db/server-labels.ts'
import type { ComputeDeps } from '../compute.ts'
import { hostFilters } from '../networks/host-filters.ts'

type Deps = Pick<ComputeDeps, 'db' | 'cells' | 'askCell' | 'log'>

/** A change is a commit, which wakes these reconcilers. */
const EVERY_MS = 10_000
/** While some host has not applied a pushed item. */
const RETRY_MS = 2_000
/** In one message: it must be small enough for the bus, and its work short enough for an answer. */
const PORTS_MAX = 20
/** In one message: metadata and tags of a server may take a tenth of what the bus takes. */
const SERVERS_MAX = 5

/** Something that hosts with a capability are to have. */
interface Pushed<Item> {
  readonly name: string
  readonly capability: string
  readonly itemsMax: number
  readonly idOf: (item: Item) => string
  wanted(hosts: readonly HostRecord[]): Promise<ReadonlyMap<string, readonly Item[]>>
  /** The ids of those that the host has now. */
  push(cell: CellRef, hostId: string, items: Item[]): Promise<readonly string[]>
}

/** Pushes the rules of security groups to every host that can filter, after any change of them. */
export function filterPorts({ db, askCell, ...deps }: Deps): Reconciler {
  return pushToHosts<PortFilter>(
    { db, askCell, ...deps },
    {
      name: 'filter ports',
      capability: 'firewall',
      itemsMax: PORTS_MAX,
      idOf: ({ nic }) => nic.portId,
      wanted: (hosts) =>
        hostFilters(
          db,
          hosts.map(({ view }) => view.hostId),
        ),
      push: async (cell, hostId, ports) => {
        const work = workContext({})
        return (await askCell(cell, 'host.filter-ports', { hostId, ports }, { work })).applied
      },
    },
  )
}

/**
 * Pushes names and labels of servers to every host whose backend shows servers to others, after any change of them,
 * and to hosts that were unreachable meanwhile.
 */
export function labelServers(deps: Deps): Reconciler {
  return pushLabels(deps, 'label servers', 'labels', labelsOnHost)
}

/** The same, with what only guests are told, to every host that has a metadata service. */
export function labelGuests(deps: Deps): Reconciler {
  return pushLabels(deps, 'label guests', 'guestMetadata', guestLabelsOnHost)
}

function pushLabels(
  deps: Deps,
  name: string,
  capability: string,
  read: typeof labelsOnHost,
): Reconciler {
  const { db, askCell } = deps
  return pushToHosts<ServerLabels>(deps, {
    name,
    capability,
    itemsMax: SERVERS_MAX,
    idOf: ({ serverId }) => serverId,
    wanted: async (hosts) => {
      const labels = new Map<string, readonly ServerLabels[]>()
      for (const { view } of hosts) labels.set(view.hostId, await read(db, view))
      return labels
    },
    push: async (cell, hostId, servers) => {
      const work = workContext({})
      return (await askCell(cell, 'host.label', { hostId, servers }, { work })).applied
    },
  })
}

/**
 * Each round reads the items that hosts are to have and pushes to each only those that differ from the ones it took
 * from this gateway last. A gateway that starts pushes every item once, and a repeated push changes nothing.
 */
function pushToHosts<Item>(deps: Deps, pushed: Pushed<Item>): Reconciler {
  const { name, capability } = pushed
  const taken = new Map<string, Map<string, string>>()
  const each = { log: deps.log, nameOf: ({ view }: HostRecord) => view.hostId }
  let isBehind = false
  return {
    name,
    get everyMs() {
      return isBehind ? RETRY_MS : EVERY_MS
    },
    round: async (signal) => {
      isBehind = true
      const hosts = await hostsAbleTo(deps.db, capability)
      const keys = new Set(hosts.map(keyOf))
      for (const key of taken.keys()) if (!keys.has(key)) taken.delete(key)
      const wanted = await pushed.wanted(hosts)
      let changed = 0
      let left = 0
      const failed = await forEachRow(hosts, { ...each, signal }, async (host) => {
        const known = taken.get(keyOf(host)) ?? new Map<string, string>()
        taken.set(keyOf(host), known)
        const due = dueOf(pushed, wanted.get(host.view.hostId) ?? [], known)
        const applied = await pushToHost(deps, pushed, host, due, known)
        changed += applied
        left += due.size - applied
      })
      isBehind = failed + left > 0
      return { changed }
    },
  }
}

/** A host that was started again gets every item again. */
function keyOf({ view }: HostRecord): string {
  return `${view.hostId} ${view.startedAt}`
}

interface Due<Item> {
  readonly item: Item
  readonly digest: string
}

/** By id, the items that the host has not yet applied in their current form; items that are gone leave `known`. */
function dueOf<Item>(
  { idOf }: Pushed<Item>,
  wanted: readonly Item[],
  known: Map<string, string>,
): ReadonlyMap<string, Due<Item>> {
  const all = new Map(wanted.map((item) => [idOf(item), { item, digest: digestOf(item) }]))
  for (const id of known.keys()) if (!all.has(id)) known.delete(id)
  return new Map([...all].filter(([id, { digest }]) => known.get(id) !== digest))
}

function digestOf(item: unknown): string {
  return createHash('sha256').update(JSON.stringify(item)).digest('base64')
}

/** Returns how many the host took; `known` is brought up to date with them. */
async function pushToHost<Item>(
  { cells }: Deps,
  pushed: Pushed<Item>,
  { cellId, view }: HostRecord,
  due: ReadonlyMap<string, Due<Item>>,
  known: Map<string, string>,
): Promise<number> {
  const items = [...due.values()].map(({ item }) => item)
  let count = 0
  try {
    for (let from = 0; from < items.length; from += pushed.itemsMax) {
      const cell = cells.cell(cellId)
      if (cell?.isReachable !== true) return count
      const part = items.slice(from, from + pushed.itemsMax)
      const applied = await pushed.push(cell, view.hostId, part)
      for (const id of applied) known.set(id, due.get(id)!.digest)
      count += applied.length
    }
  } catch (error) {
    // It is pushed again in the next round.
    if (!isFailure(error, 'unavailable', 'conflict', 'not-found', 'unsupported')) throw error
  }
  return count
}
