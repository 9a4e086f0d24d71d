import type { operations } from '#openapi/network.gen.ts'
import {
  createPorts,
  deletePort as remove,
  updatePort as update,
} from '../../app/networks/change-ports.ts'
import { dnsDomains, listPorts as listPage } from '../../app/networks/list-ports.ts'
import { dnsAssignment } from '../../app/networks/port-extras.ts'
import { visiblePort } from '../../app/networks/visible.ts'
import type { Requester } from '../../app/requester.ts'
import type { Port } from '../../db/network.ts'
import type { Handler } from '../../http/operation.ts'
import { queryPairs } from '../../http/query-pairs.ts'
import { describedView } from '../../views/network/described.ts'
import { pageBody } from './page-body.ts'
import { oneOrSeveral, pick, wantedRevision } from './request.ts'

/** POST /v2.0/ports */
export const createPort: Handler<operations['createPort']> = async ({ app, context, body }) => {
  const { port: one, ports: several } = body
  const answer = await oneOrSeveral({ one, several }, async (drafts) => {
    const made = await createPorts(app.networks, context, drafts)
    const domains = await dnsDomains(app.networks, made)
    return made.map((item) => portView(item, context, domains))
  })
  return { body: { port: answer.one, ports: answer.several } }
}

/** DELETE /v2.0/ports/{port_id} */
export const deletePort: Handler<operations['deletePort']> = async (call) => {
  const { app, context, params, raw } = call
  await remove(app.networks, context, params.port_id, wantedRevision(raw))
  return {}
}

/** GET /v2.0/ports */
export const listPorts: Handler<operations['listPorts']> = async (call) => {
  const { app, context, raw } = call
  const page = await listPage(app.networks, context, queryPairs(raw.search))
  const domains = await dnsDomains(app.networks, page.items)
  return { body: pageBody(call, 'ports', page, (item) => portView(item, context, domains)) }
}

/** GET /v2.0/ports/{port_id} */
export const showPort: Handler<operations['showPort']> = async (call) => {
  const { app, context, params, query } = call
  const found = await visiblePort(app.networks, context, params.port_id)
  const domains = await dnsDomains(app.networks, [found])
  return { body: { port: pick(portView(found, context, domains), query.fields) } }
}

/** PUT /v2.0/ports/{port_id} */
export const updatePort: Handler<operations['updatePort']> = async (call) => {
  const { app, context, params, body, raw } = call
  const changed = await update(
    app.networks,
    context,
    params.port_id,
    body.port,
    wantedRevision(raw),
  )
  const domains = await dnsDomains(app.networks, [changed])
  return { body: { port: portView(changed, context, domains) } }
}

type Domains = ReadonlyMap<string, string>

/** A port; where it is plugged in is shown to administrators. */
function portView(port: Port, requester: Requester, domains: Domains) {
  return {
    ...describedView(port),
    network_id: port.networkId,
    mac_address: port.macAddress,
    admin_state_up: port.isUp,
    status: port.status as 'ACTIVE' | 'BUILD' | 'DOWN',
    device_id: port.deviceId,
    device_owner: port.deviceOwner,
    fixed_ips: port.fixedIps.map(({ subnetId, address }) => ({
      subnet_id: subnetId,
      ip_address: address,
    })),
    security_groups: port.securityGroupIds,
    port_security_enabled: port.hasPortSecurity,
    allowed_address_pairs: port.allowedPairs.map(({ address, mac }) => ({
      ip_address: address,
      mac_address: mac ?? port.macAddress,
    })),
    extra_dhcp_opts: port.dhcpOptions.map(({ name, value, version }) => ({
      opt_name: name,
      opt_value: value,
      ip_version: version,
    })),
    dns_name: port.dnsName,
    dns_assignment: dnsAssignment(port, domains.get(port.networkId) ?? ''),
    'binding:vnic_type': port.isMachine === true ? 'baremetal' : 'normal',
    ...(requester.isAdmin ? bindingView(port) : {}),
  }
}

/** A NIC of a machine is plugged in by people, as Neutron's for ironic. */
function vifTypeOf({ hostName, isMachine }: Port) {
  if (hostName === '') return 'unbound' as const
  return isMachine === true ? ('other' as const) : ('bridge' as const)
}

function bindingView(port: Port) {
  return {
    'binding:host_id': port.hostName,
    'binding:vif_type': vifTypeOf(port),
    'binding:profile': {},
    'binding:vif_details': {},
  }
}
