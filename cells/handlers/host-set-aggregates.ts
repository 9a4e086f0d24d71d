import { isDeepStrictEqual } from 'node:util'
import type { HostId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { changeHost } from '../hosts/change-host.ts'
import { hostView } from '../hosts/host.ts'
import { notifySiblings } from '../hosts/notify-siblings.ts'
import { zoneOf } from '../hosts/zone-of.ts'

/** Afterwards the host is in the aggregates named, and in the zone they say. */
export async function hostSetAggregates(
  { conductor }: Cell,
  { hostId, aggregates }: CellAsk<'host.set-aggregates'>,
): Promise<CellAnswer<'host.set-aggregates'>> {
  const host = await changeHost(conductor, hostId as HostId, (seen) =>
    isDeepStrictEqual(seen.aggregates, aggregates)
      ? seen
      : { ...seen, aggregates, zone: zoneOf(seen.ownZone, aggregates) },
  )
  await conductor.hosts.refresh()
  notifySiblings(conductor)
  return hostView(host, conductor.ratios)
}
