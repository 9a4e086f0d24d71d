import type { WorkContext } from '#common/context.ts'
import type { NewNode, NodeView } from '#openapi/wire/node.ts'
import { askNodes, type NodeDeps } from './ask-nodes.ts'

/** Afterwards the host has the machine. Throws as `askNodes`. */
export async function addNode(
  deps: NodeDeps,
  work: WorkContext,
  hostId: string,
  node: NewNode,
): Promise<NodeView> {
  // Labels and BMCs show them in capitals; what boots from the network says them in small letters.
  const macAddress = node.macAddress.toLowerCase()
  return askNodes(deps, work, hostId, 'node-add', { ...node, macAddress })
}
