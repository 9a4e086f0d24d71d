import type { operations } from '#openapi/federation.gen.ts'
import { askNodes } from '../../../app/nodes/ask-nodes.ts'
import type { Handler } from '../../../http/operation.ts'
import { nodeView } from '../../../views/federation/node.ts'

/** POST /v1/hosts/{host}/nodes/{node}/inspect */
export const inspectNode: Handler<operations['inspectNode']> = async (call) => {
  const { app, context, params } = call
  const ask = { name: params.node }
  const node = await askNodes(app.compute, context, params.host, 'node-inspect', ask)
  return { body: nodeView(params.host, node) }
}
