import { isDeepStrictEqual } from 'node:util'
import type { WorkContext } from '#common/context.ts'
import type { HostId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'
import { auditHost } from '../hosts/audit-host.ts'
import { changeHost } from '../hosts/change-host.ts'
import { hostView } from '../hosts/host.ts'
import { notifySiblings } from '../hosts/notify-siblings.ts'
import { providerAfter, putOffer } from '../hosts/offer.ts'
import { zoneOf } from '../hosts/zone-of.ts'
import { deleteProvider } from '../placement/delete-provider.ts'

/** Afterwards the host's backend shows those of these servers that it has, which the answer names, as they are called now. */
export async function hostLabel(
  { conductor }: Cell,
  { hostId, servers }: CellAsk<'host.label'>,
  work: WorkContext,
): Promise<CellAnswer<'host.label'>> {
  return askHost(conductor, hostId as HostId, 'label', { servers }, work)
}

/** Afterwards those of these ports that the host has, which the answer names, let through what they say. */
export async function hostFilterPorts(
  { conductor }: Cell,
  { hostId, ports }: CellAsk<'host.filter-ports'>,
  work: WorkContext,
): Promise<CellAnswer<'host.filter-ports'>> {
  return askHost(conductor, hostId as HostId, 'filter-ports', { ports }, work)
}

/**
 * Afterwards the host is not there until its compute starts again. Throws `conflict` while a server is on it or comes
 * or goes.
 */
export async function hostForget(
  { conductor }: Cell,
  ask: CellAsk<'host.forget'>,
): Promise<CellAnswer<'host.forget'>> {
  const id = ask.hostId as HostId
  const host = await changeHost(
    conductor,
    id,
    (seen) => ({
      ...seen,
      isUp: false,
      isDisabled: false,
      disabledReason: null,
      isForcedDown: false,
      fencedAt: null,
      fenceProblem: null,
      aggregates: [],
      settings: null,
      provider: null,
      isDeleted: true,
    }),
    (tx) => deleteProvider(tx, id),
  )
  await conductor.hosts.refresh()
  notifySiblings(conductor)
  return hostView(host, conductor.ratios)
}

/** Afterwards the host is in the aggregates named, in the zone they say, and overcommitted as they say. */
export async function hostSetAggregates(
  { conductor }: Cell,
  { hostId, aggregates }: CellAsk<'host.set-aggregates'>,
): Promise<CellAnswer<'host.set-aggregates'>> {
  const { ratios } = conductor
  const host = await changeHost(
    conductor,
    hostId as HostId,
    (seen) => {
      if (isDeepStrictEqual(seen.aggregates, aggregates)) return seen
      const changed = { ...seen, aggregates, zone: zoneOf(seen.ownZone, aggregates) }
      return { ...changed, provider: providerAfter(seen.provider, changed, ratios) }
    },
    (tx, changed) => putOffer(tx, changed, ratios),
  )
  await conductor.hosts.refresh()
  notifySiblings(conductor)
  return hostView(host, conductor.ratios)
}

/**
 * Afterwards the host has the traits that administrators gave it, and no others besides those of its driver, and offers all
 * but what they have it keep for itself.
 */
export async function hostSetProvider(
  { conductor }: Cell,
  { hostId, settings }: CellAsk<'host.set-provider'>,
): Promise<CellAnswer<'host.set-provider'>> {
  const { ratios } = conductor
  const host = await changeHost(
    conductor,
    hostId as HostId,
    (seen) => {
      if (isDeepStrictEqual(seen.settings, settings)) return seen
      const changed = { ...seen, settings }
      return { ...changed, provider: providerAfter(seen.provider, changed, ratios) }
    },
    (tx, changed) => putOffer(tx, changed, ratios),
  )
  await conductor.hosts.refresh()
  notifySiblings(conductor)
  return hostView(host, conductor.ratios)
}

/**
 * Afterwards the host's service is enabled or disabled, and declared down or not, as the operator requests. A host that
 * is no longer declared down is audited: a server that was evacuated from it must not keep running there.
 */
export async function hostSetService(
  cell: Cell,
  ask: CellAsk<'host.set-service'>,
): Promise<CellAnswer<'host.set-service'>> {
  const { conductor } = cell
  const host = await changeHost(conductor, ask.hostId as HostId, (seen) => {
    const isDisabled = ask.isDisabled ?? seen.isDisabled
    const isForcedDown = ask.isForcedDown ?? seen.isForcedDown
    const reason = ask.disabledReason === undefined ? seen.disabledReason : ask.disabledReason
    const isUp = conductor.hosts.isUp({ ...seen, isForcedDown })
    const fencedAt = isForcedDown ? seen.fencedAt : null
    const isLeftAlone = seen.isLeftAlone && ask.isForcedDown !== false
    const disabledReason = isDisabled ? reason : null
    return { ...seen, isDisabled, disabledReason, isForcedDown, isLeftAlone, fencedAt, isUp }
  })
  await conductor.hosts.refresh()
  notifySiblings(conductor)
  if (ask.isForcedDown === false)
    void auditHost(cell, host.id).catch((error: unknown) =>
      conductor.log.warn({ host: host.id, ...errorFields(error) }, 'host not audited'),
    )
  return hostView(host, conductor.ratios)
}

/** The guests of a host that belong to no server. */
export async function hostUnmanagedGuests(
  { conductor }: Cell,
  { hostId }: CellAsk<'host.unmanaged-guests'>,
  work: WorkContext,
): Promise<CellAnswer<'host.unmanaged-guests'>> {
  // The former name, which computes of the last release know.
  return askHost(conductor, hostId as HostId, 'strangers', {}, work)
}

/** How long the host has been up. Throws `unsupported` where its driver cannot tell, `unavailable` when it does not answer. */
export function hostUptime(
  { conductor }: Cell,
  { hostId }: CellAsk<'host.uptime'>,
  work: WorkContext,
): Promise<CellAnswer<'host.uptime'>> {
  return askHost(conductor, hostId as HostId, 'uptime', {}, work)
}
