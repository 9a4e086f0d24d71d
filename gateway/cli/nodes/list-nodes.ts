import type { Operator } from '../operator.ts'
import { present } from '../output/present.ts'
import { listView } from '../output/view.ts'
import { hostNames, machineHosts, type NodeOptions } from './machine-hosts.ts'
import { nodeListing } from './node-listing.ts'
import { nodesOf } from './nodes-of.ts'

export async function listNodes(operator: Operator, options: NodeOptions): Promise<void> {
  await present(operator, options, async (session) => {
    const hosts = await machineHosts(session, options)
    return listView(await nodesOf(operator, session, hosts), nodeListing(hostNames(hosts)))
  })
}
