import type { operations } from '#openapi/network.gen.ts'
import {
  createNetworks,
  deleteNetwork as remove,
  updateNetwork as update,
} from '../../app/networks/change-networks.ts'
import { listNetworks as listPage } from '../../app/networks/list-networks.ts'
import { providerView } from '../../app/networks/provider.ts'
import { visibleNetwork } from '../../app/networks/visible.ts'
import type { Requester } from '../../app/requester.ts'
import type { Network } from '../../db/network.ts'
import type { Handler } from '../../http/operation.ts'
import { queryPairs } from '../../http/query-pairs.ts'
import { describedView } from '../../views/network/described.ts'
import { pageBody } from './page-body.ts'
import { oneOrSeveral, pick, wantedRevision } from './request.ts'

/** POST /v2.0/networks */
export const createNetwork: Handler<operations['createNetwork']> = async ({
  app,
  context,
  body,
}) => {
  const { network: one, networks: several } = body
  const answer = await oneOrSeveral({ one, several }, async (drafts) => {
    const made = await createNetworks(app.networks, context, drafts)
    return made.map((item) => networkView(item, context))
  })
  return { body: { network: answer.one, networks: answer.several } }
}

/** DELETE /v2.0/networks/{network_id} */
export const deleteNetwork: Handler<operations['deleteNetwork']> = async (call) => {
  const { app, context, params, raw } = call
  await remove(app.networks, context, params.network_id, wantedRevision(raw))
  return {}
}

/** GET /v2.0/networks */
export const listNetworks: Handler<operations['listNetworks']> = async (call) => {
  const { app, context, raw } = call
  const page = await listPage(app.networks, context, queryPairs(raw.search))
  return { body: pageBody(call, 'networks', page, (item) => networkView(item, context)) }
}

/** GET /v2.0/networks/{network_id} */
export const showNetwork: Handler<operations['showNetwork']> = async (call) => {
  const { app, context, params, query } = call
  const found = await visibleNetwork(app.networks, context, params.network_id)
  return { body: { network: pick(networkView(found, context), query.fields) } }
}

/** PUT /v2.0/networks/{network_id} */
export const updateNetwork: Handler<operations['updateNetwork']> = async (call) => {
  const { app, context, params, body, raw } = call
  const changed = await update(
    app.networks,
    context,
    params.network_id,
    body.network,
    wantedRevision(raw),
  )
  return { body: { network: networkView(changed, context) } }
}

/** A network; where it is on the wire and which cells it reaches is shown to administrators. */
function networkView(network: Network, requester: Requester) {
  const cells = network.isEverywhere ? null : network.cellIds
  return {
    ...describedView(network),
    admin_state_up: network.isUp,
    status: 'ACTIVE' as const,
    shared: network.isShared || isSharedWith(network, requester),
    'router:external': network.isExternal,
    ...(network.isExternal ? { is_default: network.isDefault } : {}),
    mtu: network.mtu,
    port_security_enabled: network.hasPortSecurity,
    dns_domain: network.dnsDomain === '' ? '' : `${network.dnsDomain}.`,
    subnets: network.subnetIds,
    availability_zone_hints: [],
    availability_zones: [],
    ipv4_address_scope: null,
    ipv6_address_scope: null,
    ...(requester.isAdmin ? { ...providerView(network), 'weir:cells': cells } : {}),
  }
}

/** A network of another project that is neither shared nor external is visible only to callers whom a policy lets. */
function isSharedWith({ projectId, isExternal }: Network, requester: Requester): boolean {
  return !isExternal && !requester.isAdmin && projectId !== requester.projectId
}
