import type { Operator } from '../operator.ts'
import { present } from '../output/present.ts'
import { fieldsView } from '../output/view.ts'
import { findNode } from './find-node.ts'
import { hostNames, type NodeOptions } from './machine-hosts.ts'
import { nodeListing } from './node-listing.ts'

/** Afterwards it is being found out again what the machine is made of. */
export async function inspectNode(
  operator: Operator,
  name: string,
  options: NodeOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const { path, host } = await findNode(operator, session, name, options)
    const at = '/v1/hosts/{host}/nodes/{node}/inspect'
    const node = await session.federation.ask('post', at, { path })
    return fieldsView(node, nodeListing(hostNames([host])))
  })
}
