import type { operations } from '#openapi/network.gen.ts'
import { createSubnets } from '../../app/networks/create-subnets.ts'
import {
  listSubnets as listPage,
  deleteSubnet as remove,
  updateSubnet as update,
} from '../../app/networks/subnets.ts'
import { visibleSubnet } from '../../app/networks/visible.ts'
import type { Subnet } from '../../db/network.ts'
import type { Handler } from '../../http/operation.ts'
import { queryPairs } from '../../http/query-pairs.ts'
import { describedView } from '../../views/network/described.ts'
import { pageBody } from './page-body.ts'
import { oneOrSeveral, pick, wantedRevision } from './request.ts'

/** POST /v2.0/subnets */
export const createSubnet: Handler<operations['createSubnet']> = async ({ app, context, body }) => {
  const { subnet: one, subnets: several } = body
  const answer = await oneOrSeveral({ one, several }, async (drafts) => {
    const made = await createSubnets(app.networks, context, drafts)
    return made.map((item) => subnetView(item))
  })
  return { body: { subnet: answer.one, subnets: answer.several } }
}

/** DELETE /v2.0/subnets/{subnet_id} */
export const deleteSubnet: Handler<operations['deleteSubnet']> = async (call) => {
  const { app, context, params, raw } = call
  await remove(app.networks, context, params.subnet_id, wantedRevision(raw))
  return {}
}

/** GET /v2.0/subnets */
export const listSubnets: Handler<operations['listSubnets']> = async (call) => {
  const { app, context, raw } = call
  const page = await listPage(app.networks, context, queryPairs(raw.search))
  return { body: pageBody(call, 'subnets', page, subnetView) }
}

/** GET /v2.0/subnets/{subnet_id} */
export const showSubnet: Handler<operations['showSubnet']> = async (call) => {
  const { app, context, params, query } = call
  const found = await visibleSubnet(app.networks, context, params.subnet_id)
  return { body: { subnet: pick(subnetView(found), query.fields) } }
}

/** PUT /v2.0/subnets/{subnet_id} */
export const updateSubnet: Handler<operations['updateSubnet']> = async (call) => {
  const { app, context, params, body, raw } = call
  const changed = await update(
    app.networks,
    context,
    params.subnet_id,
    body.subnet,
    wantedRevision(raw),
  )
  return { body: { subnet: subnetView(changed) } }
}

function subnetView(subnet: Subnet) {
  return {
    ...describedView(subnet),
    network_id: subnet.networkId,
    ip_version: subnet.ipVersion,
    cidr: subnet.cidr,
    gateway_ip: subnet.gatewayIp,
    enable_dhcp: subnet.hasDhcp,
    dns_nameservers: subnet.dnsServers,
    host_routes: subnet.hostRoutes,
    allocation_pools: subnet.pools,
    ipv6_ra_mode: subnet.ipv6RaMode,
    ipv6_address_mode: subnet.ipv6AddressMode,
    subnetpool_id: subnet.subnetPoolId,
    service_types: [],
  }
}
