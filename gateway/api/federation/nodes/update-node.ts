import type { operations } from '#openapi/federation.gen.ts'
import { askNodes } from '../../../app/nodes/ask-nodes.ts'
import type { Handler } from '../../../http/operation.ts'
import { nodeView } from '../../../views/federation/node.ts'

/** PATCH /v1/hosts/{host}/nodes/{node} */
export const updateNode: Handler<operations['updateNode']> = async (call) => {
  const { app, context, params, body } = call
  const ask = { name: params.node, reason: body.maintenance }
  const node = await askNodes(app.compute, context, params.host, 'node-maintain', ask)
  return { body: nodeView(params.host, node) }
}
