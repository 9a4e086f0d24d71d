import type { HostId } from '#common/ids.ts'
import { chooseNodes, freeOfNodes, withNodes } from '../placement/choose-nodes.ts'
import { nodeWish } from '../placement/node-wish.ts'
import { addResources, resourcesOf } from '../placement/resources.ts'
import { HostTable } from '../scheduler/host-table.ts'
import type { Conductor } from './conductor.ts'
import { decideOn, neighboursOf, type Placeable } from './decide.ts'

/**
 * How many of `count` equal servers the cell has hosts for now, each decision knowing of those before it, in capacity
 * and in the server group. Claims nothing, and reserves nothing for later decisions.
 */
export async function countFitting(
  conductor: Conductor,
  build: Placeable,
  count: number,
): Promise<number> {
  await conductor.hosts.refresh()
  const { groupMembers, ...neighbours } = await neighboursOf(conductor.db, build)
  const members = groupMembers && new Map<HostId, number>(groupMembers)
  const [resources, nodes] = [resourcesOf(build), nodeWish(build)]
  const table = new HostTable(conductor.hosts.states())
  const circumstances = {
    triedHosts: new Set<string>(),
    neighbours: { ...neighbours, groupMembers: members },
  }
  for (let fitting = 0; fitting < count; fitting += 1) {
    const [best] = decideOn(table, conductor, build, circumstances).selection.hosts
    if (best === undefined) return fitting
    const { hostId, used, instances, ioOps, buildFailures } = best
    const { metrics, imagePropertyUses, countedNodes } = best
    const numa = nodes === null ? undefined : chooseNodes(nodes, freeOfNodes(countedNodes, best))
    table.put(hostId, {
      used: addResources(used, withNodes(resources, numa)),
      instances: instances + 1,
      ioOps: ioOps + 1,
      buildFailures,
      metrics,
      imagePropertyUses,
    })
    members?.set(hostId, (members.get(hostId) ?? 0) + 1)
  }
  return count
}
