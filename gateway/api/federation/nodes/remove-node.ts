import type { operations } from '#openapi/federation.gen.ts'
import { askNodes } from '../../../app/nodes/ask-nodes.ts'
import type { Handler } from '../../../http/operation.ts'

/** DELETE /v1/hosts/{host}/nodes/{node} */
export const removeNode: Handler<operations['removeNode']> = async ({ app, context, params }) => {
  await askNodes(app.compute, context, params.host, 'node-remove', { name: params.node })
  return {}
}
