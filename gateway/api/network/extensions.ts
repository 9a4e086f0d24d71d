import type { operations } from '#openapi/network.gen.ts'
import { type Cells, isHostUp } from '../../app/hosts/host-state.ts'
import { listZones, type Zone } from '../../app/hosts/hosts.ts'
import { allHypervisors } from '../../app/hosts/hypervisors.ts'
import { networkOffers } from '../../app/networks/engine.ts'
import { findAgent } from '../../app/networks/find-agent.ts'
import { matchFilters } from '../../app/networks/list-networks.ts'
import { type FilterKinds, pageOf } from '../../app/networks/list-query.ts'
import type { HostRecord } from '../../db/host-list.ts'
import type { Handler } from '../../http/operation.ts'
import { queryPairs } from '../../http/query-pairs.ts'
import { extensionNamed, servedExtensions } from '../../views/network/extensions.ts'
import { pick } from './request.ts'

const AGENT_FILTERS: FilterKinds = {
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
  const { filters } = pageOf(queryPairs(raw.search), AGENT_FILTERS)
  const hosts = await allHypervisors(app.db)
  const agents = hosts.map((host) => agentView(host, app.compute.cells))
  const shown = matchFilters(agents, filters)
  return { body: { agents: shown.map((agent) => pick(agent, query.fields)) } }
}

const ZONE_FILTERS = { name: 'text', resource: 'text', state: 'text' } as const

/** GET /v2.0/availability_zones */
export const listAvailabilityZones: Handler<operations['listAvailabilityZones']> = async (call) => {
  const { app, query, raw } = call
  const { filters } = pageOf(queryPairs(raw.search), ZONE_FILTERS)
  const zones = await listZones(app.db, app.compute.cells)
  const shown = matchFilters(zones.map(networkZoneView), filters)
  return { body: { availability_zones: shown.map((zone) => pick(zone, query.fields)) } }
}

/** GET /v2.0/extensions */
export const listExtensions: Handler<operations['listExtensions']> = async ({ app }) => {
  return { body: { extensions: servedExtensions(await networkOffers(app.db)) } }
}

/** GET /v2.0/agents/{agent_id} */
export const showAgent: Handler<operations['showAgent']> = async ({ app, params, query }) => {
  const host = await findAgent(app.db, params.agent_id)
  return { body: { agent: pick(agentView(host, app.compute.cells), query.fields) } }
}

/** GET /v2.0/extensions/{alias} */
export const showExtension: Handler<operations['showExtension']> = async ({ app, params }) => {
  return { body: { extension: extensionNamed(await networkOffers(app.db), params.alias) } }
}

/** A host as Neutron shows the agent that does the network's work on one. */
function agentView(host: HostRecord, cells: Cells) {
  const { view, createdAt } = host
  return {
    id: view.hostId,
    agent_type: 'Compute host' as const,
    binary: 'weir-compute' as const,
    topic: 'N/A',
    host: view.name,
    availability_zone: view.zone,
    alive: isHostUp(host, cells),
    admin_state_up: !view.isDisabled,
    created_at: agentTime(createdAt.getTime()),
    started_at: agentTime(view.startedAt),
    heartbeat_timestamp: agentTime(view.lastSeenAt),
    description: null,
    configurations: {
      driver: view.driver,
      filters_ports: view.capabilities.includes('firewall'),
    },
  }
}

function agentTime(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace('T', ' ')
}

/** A zone as the network service shows it. */
function networkZoneView({ name, isAvailable }: Zone) {
  return {
    name,
    resource: 'network' as const,
    state: isAvailable ? ('available' as const) : ('unavailable' as const),
  }
}
