import type { operations } from '#openapi/federation.gen.ts'
import { askNodes } from '../../../app/nodes/ask-nodes.ts'
import type { Handler } from '../../../http/operation.ts'

/** GET /v1/hosts/{host}/nodes/{node}/sensors */
export const listNodeSensors: Handler<operations['listNodeSensors']> = async (call) => {
  const { app, context, params } = call
  const ask = { name: params.node }
  return { body: await askNodes(app.compute, context, params.host, 'node-sensors', ask) }
}
