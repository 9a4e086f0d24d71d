import { addResources } from '#cells/placement/resources.ts'
import type { HostState } from '#cells/scheduler/host-state.ts'
import { HostTable } from '#cells/scheduler/host-table.ts'
import { selectHosts } from '#cells/scheduler/select-hosts.ts'
import { Floor } from './floor.ts'
import { REQUEST, SCHEDULING } from './sample.ts'

/** Chooses a host for one server after another, each knowing of those before it, and returns the name of the last one's. */
export type Decider = (decisions: number) => string

/** The scheduler of a cell. */
export function product(hosts: readonly HostState[]): Decider {
  const table = new HostTable(hosts)
  return (decisions) => {
    let name = ''
    for (let nth = 0; nth < decisions; nth += 1) {
      const [best] = selectHosts(table, REQUEST, SCHEDULING).hosts
      if (best === undefined) throw new Error('The sample hosts are full: ask for fewer decisions.')
      const { hostId, ioOps, buildFailures, instances, metrics, imagePropertyUses } = best
      const used = addResources(best.used, REQUEST.resources)
      const same = { ioOps, buildFailures, metrics, imagePropertyUses }
      table.put(hostId, { ...same, used, instances: instances + 1 })
      name = best.name
    }
    return name
  }
}

/** The loop by hand. */
export function byHand(hosts: readonly HostState[]): Decider {
  const floor = new Floor(hosts)
  return (decisions) => {
    let name = ''
    for (let nth = 0; nth < decisions; nth += 1) {
      const [best] = floor.best(REQUEST)
      if (best === undefined) throw new Error('The sample hosts are full: ask for fewer decisions.')
      floor.take(best, REQUEST)
      name = hosts[best]!.name
    }
    return name
  }
}
