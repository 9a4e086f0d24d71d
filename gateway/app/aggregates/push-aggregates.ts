import { isDeepStrictEqual } from 'node:util'
import { workContext } from '#common/context.ts'
import type { Executor } from '#common/db/database.ts'
import type { HostAggregate } from '#openapi/wire/provider.ts'
import { listAggregates } from '../../db/aggregates.ts'
import { type HostRecord, hostsByIds, listHosts } from '../../db/host-list.ts'
import { changeInCell, type HostChangeDeps } from '../hosts/change-in-cell.ts'

export type AggregateDeps = HostChangeDeps

/**
 * Afterwards the cells of these hosts know which aggregates they are in, and every gateway shows their zones. Cells
 * that cannot be reached get the change when they are back.
 */
export async function pushToHosts(deps: AggregateDeps, hostIds: readonly string[]): Promise<void> {
  await pushOwed(deps, await hostsByIds(deps.db, hostIds))
}

/** As `pushToHosts`, for every host there is. Returns how many it was pushed to. */
export async function pushAggregates(deps: AggregateDeps): Promise<number> {
  return pushOwed(deps, await listHosts(deps.db))
}

async function pushOwed(deps: AggregateDeps, hosts: readonly HostRecord[]): Promise<number> {
  const wanted = await aggregatesByHost(deps.db)
  let pushed = 0
  for (const host of hosts) {
    const aggregates = wanted.get(host.view.hostId) ?? []
    if (isDeepStrictEqual(host.view.aggregates ?? [], aggregates)) continue
    const ask = { hostId: host.view.hostId, aggregates }
    const isPushed = await changeInCell(deps, host, (cell) =>
      deps.askCell(cell, 'host.set-aggregates', ask, { work: workContext({}) }),
    )
    if (isPushed) pushed += 1
  }
  return pushed
}

/** By the host's id, in the order of the aggregates' ids. */
async function aggregatesByHost(db: Executor): Promise<ReadonlyMap<string, HostAggregate[]>> {
  const byHost = new Map<string, HostAggregate[]>()
  for (const { id, metadata, hosts } of await listAggregates(db))
    for (const { hostId } of hosts) {
      const known = byHost.get(hostId) ?? []
      byHost.set(hostId, [...known, { id, metadata: { ...metadata } }])
    }
  return byHost
}
