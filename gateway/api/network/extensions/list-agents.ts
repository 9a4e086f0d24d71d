import type { operations } from '#openapi/network.gen.ts'
import type { Handler } from '../../../http/operation.ts'

/** GET /v2.0/agents */
export const listAgents: Handler<operations['listAgents']> = async () => {
  return { body: { agents: [] } }
}
