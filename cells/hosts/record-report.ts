import { Failure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import type { HostReport } from '#openapi/wire/host.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { queueFeedRow } from '../db/feed.ts'
import { findHosts, insertHost, updateHost } from '../db/hosts.ts'
import { recordStores } from '../db/stores.ts'
import { type Host, hostView } from './host.ts'
import { providerAfter, putOffer } from './offer.ts'
import { zoneOf } from './zone-of.ts'

/** Others change the same row seldom. */
const TRIES_MAX = 5

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
      if (next.provider?.generation !== seen?.provider?.generation) await putOffer(tx, next, ratios)
      if (report.stores !== undefined) await recordStores(tx, next.id, report.stores)
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
  const settings = seen?.settings ?? null
  // Its machine has started again, or it has stopped its guests: nothing of before runs on it.
  const isBack = seen?.fencedAt != null && seen.startedAt !== report.startedAt
  const isForcedDown = seen?.isForcedDown === true && !isBack
  return {
    id: report.hostId as HostId,
    name: report.name,
    zone: zoneOf(ownZone, aggregates),
    ownZone,
    aggregates,
    settings,
    driver: report.driver,
    simulated: report.simulated,
    capabilities: report.capabilities,
    isUp: report.down === null && !isForcedDown,
    down: report.down,
    isDisabled: seen?.isDisabled ?? false,
    disabledReason: seen?.disabledReason ?? null,
    isForcedDown,
    fencedAt: isBack ? null : (seen?.fencedAt ?? null),
    isLeftAlone: isForcedDown && seen?.isLeftAlone === true,
    fenceProblem: null,
    fenceDevice: seen?.fenceDevice ?? null,
    inventory,
    network: seen?.network ?? null,
    startedAt: report.startedAt,
    lastSeenAt: clock.now(),
    isDeleted: false,
    provider: providerAfter(
      seen?.provider ?? null,
      { inventory, aggregates, settings },
      conductor.ratios,
    ),
  }
}
