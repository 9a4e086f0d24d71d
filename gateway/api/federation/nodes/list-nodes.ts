import type { operations } from '#openapi/federation.gen.ts'
import { askNodes } from '../../../app/nodes/ask-nodes.ts'
import type { Handler } from '../../../http/operation.ts'
import { nodeView } from '../../../views/federation/node.ts'

/** GET /v1/hosts/{host}/nodes */
export const listNodes: Handler<operations['listNodes']> = async ({ app, context, params }) => {
  const { nodes } = await askNodes(app.compute, context, params.host, 'node-list', {})
  return { body: { nodes: nodes.map((node) => nodeView(params.host, node)) } }
}
