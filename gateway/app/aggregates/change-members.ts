import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import {
  type Aggregate,
  deleteAggregateHost,
  insertAggregateHost,
  lockAggregates,
} from '../../db/aggregates.ts'
import { type HostRecord, hostsNamed, serversOnHosts } from '../../db/host-list.ts'
import { type ChangedBy, queueAggregateEvent } from '../events/resource-events.ts'
import { aggregateOf, showAggregate } from './aggregates.ts'
import { type AggregateDeps, pushToHosts } from './push-aggregates.ts'
import { without, ZONE_KEY, zoneByAggregates } from './zones.ts'

/**
 * Afterwards the host is in the aggregate. Throws `not-found` for either, and `conflict` where it is in there already,
 * is in another zone, or has servers whose zone would change.
 */
export async function addAggregateHost(
  deps: AggregateDeps,
  by: ChangedBy,
  id: string,
  name: string,
): Promise<Aggregate> {
  const host = await hostNamed(deps, name)
  await deps.db.transaction(async (tx) => {
    const all = await lockAggregates(tx)
    const aggregate = aggregateOf(all, id)
    const { hostId } = host.view
    if (aggregate.hosts.some((member) => member.hostId === hostId))
      throw new Failure('conflict', `Aggregate ${id} already has host ${name}.`)
    const zone = aggregate.metadata[ZONE_KEY] ?? null
    const before = zoneByAggregates(all, hostId)
    if (zone !== null && before !== null && before !== zone)
      throw new Failure(
        'conflict',
        `Cannot add host to aggregate ${id}. Reason: One or more hosts already in availability zone(s) ${before}.`,
      )
    if (zone !== null)
      await refuseMove(tx, host, { from: before ?? ownZone(host), to: zone }, (reason) => {
        return `Cannot add host to aggregate ${id}. Reason: The host cannot be added to the aggregate as ${reason}`
      })
    await insertAggregateHost(tx, aggregate.id, { hostId, name })
    const hosts = [...aggregate.hosts, { hostId, name }]
    queueAggregateEvent(tx, by, 'add_host', { ...aggregate, hosts })
  })
  await pushToHosts(deps, [host.view.hostId])
  return showAggregate(deps.db, id)
}

/** Afterwards the host is not in the aggregate. Throws `not-found`, and `conflict` where the zone of servers would change. */
export async function removeAggregateHost(
  deps: AggregateDeps,
  by: ChangedBy,
  id: string,
  name: string,
): Promise<Aggregate> {
  const removed = await deps.db.transaction(async (tx) => {
    const all = await lockAggregates(tx)
    const aggregate = aggregateOf(all, id)
    const member = aggregate.hosts.find((each) => each.name === name)
    if (member === undefined)
      throw new Failure('not-found', `Cannot remove host ${name} in aggregate ${id}`)
    const { hostId } = member
    const host = (await hostsNamed(tx, name)).find(({ view }) => view.hostId === hostId)
    const from = aggregate.metadata[ZONE_KEY]
    if (host !== undefined && from !== undefined) {
      const to = zoneByAggregates(without(all, aggregate), hostId) ?? ownZone(host)
      await refuseMove(tx, host, { from, to }, (reason) => {
        return `Cannot remove host from aggregate ${id}. Reason: The host cannot be removed from the aggregate as ${reason}`
      })
    }
    await deleteAggregateHost(tx, aggregate.id, hostId)
    const hosts = aggregate.hosts.filter((each) => each.hostId !== hostId)
    queueAggregateEvent(tx, by, 'remove_host', { ...aggregate, hosts })
    return hostId
  })
  await pushToHosts(deps, [removed])
  return showAggregate(deps.db, id)
}

function ownZone({ view }: HostRecord): string {
  return view.ownZone ?? view.zone
}

async function hostNamed(deps: AggregateDeps, name: string): Promise<HostRecord> {
  const [host, another] = await hostsNamed(deps.db, name)
  if (host === undefined) throw new Failure('not-found', `Compute host ${name} could not be found.`)
  if (another !== undefined)
    throw new Failure(
      'conflict',
      `Several cells have a host ${name}: give one of them another name.`,
    )
  return host
}

async function refuseMove(
  tx: Tx,
  { view }: HostRecord,
  { from, to }: { readonly from: string; readonly to: string },
  sentence: (reason: string) => string,
): Promise<void> {
  if (from === to) return
  const servers = (await serversOnHosts(tx, [view.hostId])).get(view.hostId) ?? []
  if (servers.length === 0) return
  const reason = `the availability zone of the host would change from '${from}' to '${to}' but the host already has ${servers.length} instance(s). Move the instances away from this host then try again.`
  throw new Failure('conflict', sentence(reason))
}
