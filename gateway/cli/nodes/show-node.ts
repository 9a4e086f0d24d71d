import type { Operator } from '../operator.ts'
import { present } from '../output/present.ts'
import { fieldsView } from '../output/view.ts'
import { findNode } from './find-node.ts'
import { hostNames, type NodeOptions } from './machine-hosts.ts'
import { nodeListing } from './node-listing.ts'

export async function showNode(
  operator: Operator,
  name: string,
  options: NodeOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const { path, host } = await findNode(operator, session, name, options)
    const node = await session.federation.ask('get', '/v1/hosts/{host}/nodes/{node}', { path })
    return fieldsView(node, nodeListing(hostNames([host])))
  })
}
