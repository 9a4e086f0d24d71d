import type { operations } from '#openapi/federation.gen.ts'
import { findNode } from '../../../app/nodes/find-node.ts'
import type { Handler } from '../../../http/operation.ts'
import { nodeView } from '../../../views/federation/node.ts'

/** GET /v1/hosts/{host}/nodes/{node} */
export const showNode: Handler<operations['showNode']> = async ({ app, context, params }) => {
  const node = await findNode(app.compute, context, params.host, params.node)
  return { body: nodeView(params.host, node) }
}
