import type { operations } from '#openapi/federation.gen.ts'
import { addNode as add } from '../../../app/nodes/add-node.ts'
import type { Handler } from '../../../http/operation.ts'
import { newNode } from '../../../views/federation/new-node.ts'
import { nodeView } from '../../../views/federation/node.ts'

/** POST /v1/hosts/{host}/nodes */
export const addNode: Handler<operations['addNode']> = async ({ app, context, params, body }) => {
  const node = await add(app.compute, context, params.host, newNode(body))
  return { body: nodeView(params.host, node) }
}
