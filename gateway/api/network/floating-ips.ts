import type { operations } from '#openapi/network.gen.ts'
import {
  createFloatingIps,
  deleteFloatingIp,
  listFloatingIps,
  ownFloatingIp,
  updateFloatingIp,
} from '../../app/networks/floating-ips.ts'
import type { Requester } from '../../app/requester.ts'
import type { FloatingIp } from '../../db/floating-ips.ts'
import type { PortForwarding } from '../../db/port-forwardings.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { queryPairs } from '../../http/query-pairs.ts'
import { unnamedView } from '../../views/network/described.ts'
import { portForwardingView } from '../../views/network/port-forwarding.ts'
import { pageBody } from './page-body.ts'
import { oneOrSeveral, pick, wantedRevision } from './request.ts'

type List = operations['listNetworkFloatingIps']
type Create = operations['createNetworkFloatingIp']
type Show = operations['showNetworkFloatingIp']
type Update = operations['updateNetworkFloatingIp']
type Delete = operations['deleteNetworkFloatingIp']

async function list(call: Call<List>): Promise<Answer<List>> {
  const { app, context, raw } = call
  const page = await listFloatingIps(app.networks, context, queryPairs(raw.search))
  return { body: pageBody(call, 'floatingips', page, (ip) => floatingIpView(ip, context)) }
}

async function create({ app, context, body }: Call<Create>): Promise<Answer<Create>> {
  const { floatingip: one, floatingips: several } = body
  const answer = await oneOrSeveral({ one, several }, async (drafts) => {
    const made = await createFloatingIps(app.networks, context, drafts)
    return made.map((ip) => floatingIpView(ip, context))
  })
  return { body: { floatingip: answer.one, floatingips: answer.several } }
}

async function show({ app, context, params, query }: Call<Show>): Promise<Answer<Show>> {
  const found = await ownFloatingIp(app.networks, context, params.floatingip_id)
  return { body: { floatingip: pick(floatingIpView(found, context), query.fields) } }
}

async function update(call: Call<Update>): Promise<Answer<Update>> {
  const { app, context, params, body, raw } = call
  const id = params.floatingip_id
  const wanted = wantedRevision(raw)
  const changed = await updateFloatingIp(app.networks, context, id, body.floatingip, wanted)
  return { body: { floatingip: floatingIpView(changed, context) } }
}

async function remove({ app, context, params, raw }: Call<Delete>): Promise<Answer<Delete>> {
  await deleteFloatingIp(app.networks, context, params.floatingip_id, wantedRevision(raw))
  return {}
}

/** What openapi/network/floating-ips.yaml describes; Compute's operations of the same name are proxies of these. */
export const floatingIpHandlers = {
  listNetworkFloatingIps: list,
  createNetworkFloatingIp: create,
  showNetworkFloatingIp: show,
  updateNetworkFloatingIp: update,
  deleteNetworkFloatingIp: remove,
}

function floatingIpView(ip: FloatingIp, { isAdmin }: Requester) {
  const isAssociated = ip.fixedPortId !== null
  return {
    ...unnamedView(ip),
    status: statusOf(ip),
    ...(isAdmin && { 'weir:problem': isAssociated ? ip.problem : null }),
    floating_network_id: ip.networkId,
    floating_ip_address: ip.address,
    port_id: ip.fixedPortId,
    fixed_ip_address: ip.fixedAddress,
    router_id: ip.routerId ?? ip.forwardings[0]?.routerId ?? null,
    port_forwardings: ip.forwardings.map(forwardingView),
    port_details: portDetailsView(ip),
  }
}

function statusOf({ fixedPortId, reportedStatus, forwardings }: FloatingIp) {
  if (fixedPortId !== null) return reportedStatus ?? 'ACTIVE'
  return forwardings.length > 0 ? 'ACTIVE' : 'DOWN'
}

function forwardingView(forwarding: PortForwarding) {
  const { id, protocol, internal_port_id, internal_ip_address, internal_port, external_port } =
    portForwardingView(forwarding)
  return { id, protocol, internal_port_id, internal_ip_address, internal_port, external_port }
}

function portDetailsView({ fixedPort: port }: FloatingIp) {
  if (port === null) return null
  return {
    name: port.name,
    network_id: port.networkId,
    mac_address: port.macAddress,
    admin_state_up: port.isUp,
    status: port.status as 'ACTIVE' | 'BUILD' | 'DOWN',
    device_id: port.deviceId,
    device_owner: port.deviceOwner,
  }
}
