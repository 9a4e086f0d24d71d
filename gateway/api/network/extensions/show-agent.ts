import type { operations } from '#openapi/network.gen.ts'
import { findAgent } from '../../../app/networks/find-agent.ts'
import type { Handler } from '../../../http/operation.ts'
import { agentView } from '../../../views/network/agent.ts'
import { pick } from '../pick.ts'

/** GET /v2.0/agents/{agent_id} */
export const showAgent: Handler<operations['showAgent']> = async ({ app, params, query }) => {
  const host = await findAgent(app.db, params.agent_id)
  return { body: { agent: pick(agentView(host, app.compute.cells), query.fields) } }
}
