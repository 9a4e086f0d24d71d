import { Failure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import type { HostReport, Inventory } from '#openapi/wire/host.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { queueFeedRow } from '../db/feed.ts'
import { findHosts, insertHost, updateHost } from '../db/hosts.ts'
import { putInventory } from '../placement/inventory.ts'
import { limitsOf, ratiosOf } from '../placement/ratios.ts'
import { combineResources, type Resources } from '../placement/resources.ts'
import { type Host, hostView, type Provider } from './host.ts'
import { zoneOf } from './zone-of.ts'

/** Others change the same row seldom. */
const TRIES_MAX = 5
const NONE: Resources = { vcpus: 0, memoryMb: 0, diskGb: 0 }

/**
 * Afterwards the host's row and inventory are as it reported. A host never seen before appears by this, and one that
 * was forgotten by the report of a compute that has started since.
 */
export async function recordReport(conductor: Conductor, report: HostReport): Promise<void> {
  const { db, ratios, feedChanged } = conductor
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const [row] = await findHosts(db, [report.hostId as HostId])
    if (row?.isDeleted === true && row.startedAt === report.startedAt) return
    const seen = row?.isDeleted === true ? undefined : row
    const version = row?.version ?? 0
    const next = { ...afterReport(conductor, seen, report), version: version + 1 }
    const isWritten = await db.transaction(async (tx) => {
      const isFree =
        row === undefined ? await insertHost(tx, next) : await updateHost(tx, version, next)
      if (!isFree) return false
      if (next.inventory !== null && next.provider?.generation !== seen?.provider?.generation) {
        const { id: provider, name } = next
        const total = totalOf(next.inventory)
        const ownRatios = ratiosOf(next.inventory, ratios)
        await putInventory(tx, { provider, name, total, ratios: ownRatios })
      }
      queueFeedRow(tx, [{ kind: 'host', view: hostView(next, ratios) }])
      return true
    })
    if (!isWritten) continue
    feedChanged()
    return
  }
  throw new Failure('conflict', `Host ${report.hostId} is being changed.`)
}

function afterReport(
  conductor: Conductor,
  seen: Host | undefined,
  report: HostReport,
): Omit<Host, 'version'> {
  const { zone, clock } = conductor
  const inventory = report.inventory ?? seen?.inventory ?? null
  const ownZone = report.zone ?? zone
  const aggregates = seen?.aggregates ?? []
  return {
    id: report.hostId as HostId,
    name: report.name,
    zone: zoneOf(ownZone, aggregates),
    ownZone,
    aggregates,
    driver: report.driver,
    simulated: report.simulated,
    capabilities: report.capabilities,
    isUp: report.down === null && seen?.isForcedDown !== true,
    down: report.down,
    isDisabled: seen?.isDisabled ?? false,
    disabledReason: seen?.disabledReason ?? null,
    isForcedDown: seen?.isForcedDown ?? false,
    inventory,
    network: seen?.network ?? null,
    startedAt: report.startedAt,
    lastSeenAt: clock.now(),
    isDeleted: false,
    provider: inventory === null ? null : providerAfter(conductor, seen, inventory),
  }
}

/** The provider as it will be: of a new generation exactly when what it offers has changed. */
function providerAfter(
  { ratios }: Conductor,
  seen: Host | undefined,
  inventory: Inventory,
): Provider {
  const limits = limitsOf(totalOf(inventory), ratiosOf(inventory, ratios))
  const before = seen?.provider ?? { generation: 0, limits: NONE, used: NONE, instances: 0 }
  return isSame(limits, before.limits) && seen?.provider != null
    ? before
    : { ...before, limits, generation: before.generation + 1 }
}

function isSame(a: Resources, b: Resources): boolean {
  const { custom = {}, ...differences } = combineResources(a, b, (x, y) => x - y)
  return [...Object.values(differences), ...Object.values(custom)].every((by) => by === 0)
}

/** The amounts that can be claimed; for whole machines, only the machines. */
function totalOf({ vcpus, memoryMb, diskGb, machines, resources }: Inventory): Resources {
  if (machines === undefined)
    return { vcpus, memoryMb, diskGb, ...(resources && { custom: resources }) }
  const custom = machines.map(({ resourceClass, total }) => [resourceClass, total] as const)
  return { ...NONE, custom: Object.fromEntries(custom) }
}
