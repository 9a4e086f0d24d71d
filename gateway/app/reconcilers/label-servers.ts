import { createHash } from 'node:crypto'
import { workContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import { forEachRow, type Reconciler } from '#common/reconciler.ts'
import type { ServerLabels } from '#openapi/wire/labels.ts'
import { type HostRecord, hostsAbleTo } from '../../db/host-list.ts'
import { labelsOnHost } from '../../db/server-labels.ts'
import type { ComputeDeps } from '../compute.ts'

type Deps = Pick<ComputeDeps, 'db' | 'cells' | 'askCell' | 'log'>

const EVERY_MS = 2_000
/** In one message: metadata and tags of a server may take a tenth of what the bus takes. */
const SERVERS_MAX = 5

/**
 * Every host whose backend shows servers to others shows them as they are called here, whoever has changed what, also one
 * that was away meanwhile. Each round tells only what differs from what the host took from this gateway last. A gateway
 * that begins tells everything once, and telling the same twice changes nothing.
 */
export function labelServers(deps: Deps): Reconciler {
  const told = new Map<string, Map<string, string>>()
  const each = { log: deps.log, nameOf: ({ view }: HostRecord) => view.hostId }
  return {
    name: 'label servers',
    everyMs: EVERY_MS,
    round: async (signal) => {
      const hosts = await hostsAbleTo(deps.db, 'labels')
      const keys = new Set(hosts.map(keyOf))
      for (const key of told.keys()) if (!keys.has(key)) told.delete(key)
      let changed = 0
      await forEachRow(hosts, { ...each, signal }, async (host) => {
        const known = told.get(keyOf(host)) ?? new Map<string, string>()
        told.set(keyOf(host), known)
        changed += await tellHost(deps, host, known)
      })
      return { changed }
    },
  }
}

/** A host that was started again is told everything again. */
function keyOf({ view }: HostRecord): string {
  return `${view.hostId} ${view.startedAt}`
}

/** Returns how many servers were told of; `known` is brought up to date with them. */
async function tellHost(deps: Deps, host: HostRecord, known: Map<string, string>): Promise<number> {
  const wanted = await labelsOnHost(deps.db, host.view)
  const digests = new Map(wanted.map((labels) => [labels.serverId, digestOf(labels)]))
  for (const serverId of known.keys()) if (!digests.has(serverId)) known.delete(serverId)
  const due = wanted.filter(({ serverId }) => known.get(serverId) !== digests.get(serverId))
  let count = 0
  for (let from = 0; from < due.length; from += SERVERS_MAX) {
    const applied = await tell(deps, host, due.slice(from, from + SERVERS_MAX))
    if (applied === undefined) break
    for (const serverId of applied) known.set(serverId, digests.get(serverId)!)
    count += applied.length
  }
  return count
}

function digestOf(labels: ServerLabels): string {
  return createHash('sha256').update(JSON.stringify(labels)).digest('base64')
}

/** The servers that the host has; undefined for a host that cannot be told now. */
async function tell(
  { cells, askCell }: Deps,
  { cellId, view }: HostRecord,
  servers: ServerLabels[],
): Promise<readonly string[] | undefined> {
  const cell = cells.cell(cellId)
  if (cell?.isAlive !== true) return undefined
  try {
    const asked = { hostId: view.hostId, servers }
    return (await askCell(cell, 'host.label', asked, { work: workContext({}) })).applied
  } catch (error) {
    if (isFailure(error, 'unavailable', 'conflict', 'not-found', 'unsupported')) return undefined
    throw error
  }
}
