import type { operations } from '#openapi/federation.gen.ts'
import { addNode as add, askNodes, findNode } from '../../app/nodes.ts'
import type { Handler } from '../../http/operation.ts'
import { newNode } from '../../views/federation/new-node.ts'
import { nodeView } from '../../views/federation/node.ts'

/** POST /v1/hosts/{host}/nodes */
export const addNode: Handler<operations['addNode']> = async ({ app, context, params, body }) => {
  const node = await add(app.compute, context, params.host, newNode(body))
  return { body: nodeView(params.host, node) }
}

/** POST /v1/hosts/{host}/nodes/{node}/inspect */
export const inspectNode: Handler<operations['inspectNode']> = async (call) => {
  const { app, context, params } = call
  const ask = { name: params.node }
  const node = await askNodes(app.compute, context, params.host, 'node-inspect', ask)
  return { body: nodeView(params.host, node) }
}

/** GET /v1/hosts/{host}/nodes/{node}/sensors */
export const listNodeSensors: Handler<operations['listNodeSensors']> = async (call) => {
  const { app, context, params } = call
  const ask = { name: params.node }
  return { body: await askNodes(app.compute, context, params.host, 'node-sensors', ask) }
}

/** GET /v1/hosts/{host}/nodes */
export const listNodes: Handler<operations['listNodes']> = async ({ app, context, params }) => {
  const { nodes } = await askNodes(app.compute, context, params.host, 'node-list', {})
  return { body: { nodes: nodes.map((node) => nodeView(params.host, node)) } }
}

/** DELETE /v1/hosts/{host}/nodes/{node} */
export const removeNode: Handler<operations['removeNode']> = async ({ app, context, params }) => {
  await askNodes(app.compute, context, params.host, 'node-remove', { name: params.node })
  return {}
}

/** GET /v1/hosts/{host}/nodes/{node} */
export const showNode: Handler<operations['showNode']> = async ({ app, context, params }) => {
  const node = await findNode(app.compute, context, params.host, params.node)
  return { body: nodeView(params.host, node) }
}

/** PATCH /v1/hosts/{host}/nodes/{node} */
export const updateNode: Handler<operations['updateNode']> = async (call) => {
  const { app, context, params, body } = call
  const ask = { name: params.node, reason: body.maintenance }
  const node = await askNodes(app.compute, context, params.host, 'node-maintain', ask)
  return { body: nodeView(params.host, node) }
}
