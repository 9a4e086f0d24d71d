import type { Executor } from '#common/db/database.ts'
import { type HostRecord, listHosts } from '../../db/host-list.ts'
import { type Cells, isHostUp } from './host-state.ts'

/** An availability zone: the hosts that say they are in it. */
export interface Zone {
  readonly name: string
  /** True when a server could be put there now: a host is up and enabled. */
  readonly isAvailable: boolean
  readonly hosts: readonly HostRecord[]
}

/** Every zone, by name. */
export async function listZones(db: Executor, cells: Cells): Promise<readonly Zone[]> {
  const byZone = Map.groupBy(await listHosts(db), ({ view }) => view.zone)
  return [...byZone]
    .map(([name, hosts]) => {
      const isAvailable = hosts.some((host) => !host.view.isDisabled && isHostUp(host, cells))
      return { name, isAvailable, hosts }
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
