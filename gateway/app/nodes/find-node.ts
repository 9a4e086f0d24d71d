import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { NodeView } from '#openapi/wire/node.ts'
import { askNodes, type NodeDeps } from './ask-nodes.ts'

/** Throws as `askNodes`, and `not-found` for a machine that the host does not have. */
export async function findNode(
  deps: NodeDeps,
  work: WorkContext,
  hostId: string,
  name: string,
): Promise<NodeView> {
  const { nodes } = await askNodes(deps, work, hostId, 'node-list', {})
  const node = nodes.find((one) => one.name === name)
  if (node !== undefined) return node
  throw new Failure('not-found', `There is no node ${name} on this host.`)
}
