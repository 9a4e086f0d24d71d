import type { operations } from '#openapi/network.gen.ts'
import { allHypervisors } from '../../../app/hosts/list-hypervisors.ts'
import { type FilterKinds, pageOf } from '../../../app/networks/list-query.ts'
import { matchFilters } from '../../../app/networks/match-filters.ts'
import type { Handler } from '../../../http/operation.ts'
import { queryPairs } from '../../../http/query-pairs.ts'
import { agentView } from '../../../views/network/agent.ts'
import { pick } from '../pick.ts'

const FILTERS: FilterKinds = {
  id: 'text',
  host: 'text',
  agent_type: 'text',
  binary: 'text',
  availability_zone: 'text',
  alive: 'boolean',
  admin_state_up: 'boolean',
}

/** GET /v2.0/agents */
export const listAgents: Handler<operations['listAgents']> = async ({ app, query, raw }) => {
  const { filters } = pageOf(queryPairs(raw.search), FILTERS)
  const hosts = await allHypervisors(app.db)
  const agents = hosts.map((host) => agentView(host, app.compute.cells))
  const shown = matchFilters(agents, filters)
  return { body: { agents: shown.map((agent) => pick(agent, query.fields)) } }
}
