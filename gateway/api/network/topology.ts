import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/network.gen.ts'
import {
  autoTopology,
  checkAutoTopology,
  deleteAutoTopology,
} from '../../app/networks/auto-topology.ts'
import {
  type IpAvailability,
  ipAvailabilities,
  ipAvailability,
  type SubnetAvailability,
} from '../../app/networks/ip-availability.ts'
import type { Answer, Call, Handler } from '../../http/operation.ts'
import { queryPairs } from '../../http/query-pairs.ts'
import { pick } from './request.ts'

type ShowTopology = operations['showAutoAllocatedTopology']
type DeleteTopology = operations['deleteAutoAllocatedTopology']
type ListAvailabilities = operations['listNetworkIpAvailabilities']
type ShowAvailability = operations['showNetworkIpAvailability']

async function showTopology(call: Call<ShowTopology>): Promise<Answer<ShowTopology>> {
  const { app, context, params, query } = call
  const { project_id: asked } = params
  if (query.fields?.includes('dry-run') === true) {
    const projectId = await checkAutoTopology(app.networks, context, asked)
    return { body: { auto_allocated_topology: topologyView('dry-run=pass', projectId) } }
  }
  const { networkId, projectId } = await autoTopology(app.networks, context, asked)
  return { body: { auto_allocated_topology: topologyView(networkId, projectId) } }
}

async function deleteTopology(call: Call<DeleteTopology>): Promise<Answer<DeleteTopology>> {
  const { app, context, params } = call
  await deleteAutoTopology(app.networks, context, params.project_id)
  return {}
}

async function listAvailabilities(
  call: Call<ListAvailabilities>,
): Promise<Answer<ListAvailabilities>> {
  const { app, query, raw } = call
  const all = await ipAvailabilities(app.networks, queryPairs(raw.search))
  const views = all.map((each) => pick(availabilityView(each), query.fields))
  return { body: { network_ip_availabilities: views } }
}

async function showAvailability(call: Call<ShowAvailability>): Promise<Answer<ShowAvailability>> {
  const { app, params, query } = call
  const found = await ipAvailability(app.networks, params.network_id)
  return { body: { network_ip_availability: pick(availabilityView(found), query.fields) } }
}

const listAddressScopes: Handler<operations['listAddressScopes']> = async () => {
  return { body: { address_scopes: [] } }
}

const createAddressScope: Handler = async () => {
  throw new Failure(
    'unsupported',
    'Address scopes would have no effect, because routers ignore them. Create the subnet pool without one.',
  )
}

const showAddressScope: Handler<operations['showAddressScope']> = async ({ params }) => {
  throw new Failure('not-found', `Address scope ${params.address_scope_id} could not be found`)
}

/** What openapi/network/topology.yaml describes. */
export const topologyHandlers = {
  showAutoAllocatedTopology: showTopology,
  deleteAutoAllocatedTopology: deleteTopology,
  listNetworkIpAvailabilities: listAvailabilities,
  showNetworkIpAvailability: showAvailability,
  listAddressScopes,
  createAddressScope,
  showAddressScope,
}

function topologyView(id: string, projectId: string) {
  return { id, project_id: projectId, tenant_id: projectId }
}

function availabilityView({ network, subnets }: IpAvailability) {
  return {
    network_id: network.id,
    network_name: network.name,
    project_id: network.projectId,
    tenant_id: network.projectId,
    total_ips: subnets.reduce((sum, { total }) => sum + total, 0),
    used_ips: subnets.reduce((sum, { used }) => sum + used, 0),
    subnet_ip_availability: subnets.map(subnetView),
  }
}

function subnetView({ subnet, total, used }: SubnetAvailability) {
  return {
    subnet_id: subnet.id,
    subnet_name: subnet.name,
    cidr: subnet.cidr,
    ip_version: subnet.ipVersion,
    total_ips: total,
    used_ips: used,
  }
}
