import type { operations } from '#openapi/compute.gen.ts'
import { attachInterface, detachInterface } from '../../app/servers/interfaces/attach-interface.ts'
import {
  addressesOnNetwork,
  serverGroups,
  serverInterface,
  serverInterfaces,
} from '../../app/servers/interfaces/server-interfaces.ts'
import type { ServerRecord } from '../../app/servers/list/server-record.ts'
import { showServer } from '../../app/servers/list/show-server.ts'
import type { Port } from '../../db/network.ts'
import type { Handler } from '../../http/operation.ts'
import { proxiedGroupView } from '../../views/proxied-security-group.ts'
import { gone } from './gone.ts'

/** POST /servers/{server_id}/os-interface */
const attachServerInterface: Handler<operations['attachServerInterface']> = async (call) => {
  const { app, context, params, body } = call
  const { net_id, port_id, fixed_ips, tag } = body.interfaceAttachment ?? {}
  const port = await attachInterface(app, context, params.server_id, {
    networkId: net_id,
    portId: port_id,
    fixedIp: fixed_ips?.[0]?.ip_address,
    tag,
  })
  return { body: { interfaceAttachment: interfaceView(port) } }
}

/** DELETE /servers/{server_id}/os-interface/{port_id} */
const detachServerInterface: Handler<operations['detachServerInterface']> = async (call) => {
  const { app, context, params } = call
  await detachInterface(app.compute, context, params.server_id, params.port_id)
  return {}
}

/** GET /servers/{server_id}/ips */
const listServerAddresses: Handler<operations['listServerAddresses']> = async (call) => {
  const { app, context, params } = call
  const { addresses } = await showServer(app.db, context, params.server_id)
  return { body: { addresses: networkAddressesView(addresses) } }
}

/** GET /servers/{server_id}/os-interface */
const listServerInterfaces: Handler<operations['listServerInterfaces']> = async (call) => {
  const { app, context, params } = call
  const ports = await serverInterfaces(app.db, context, params.server_id)
  return { body: { interfaceAttachments: ports.map(interfaceView) } }
}

/** GET /servers/{server_id}/os-security-groups */
const listServerSecurityGroups: Handler<operations['listServerSecurityGroups']> = async (call) => {
  const { app, context, params } = call
  const { groups, remotes } = await serverGroups(app.db, context, params.server_id)
  return { body: { security_groups: groups.map((group) => proxiedGroupView(group, remotes)) } }
}

/** GET /servers/{server_id}/ips/{network_label} */
const showServerAddresses: Handler<operations['showServerAddresses']> = async (call) => {
  const { app, context, params } = call
  const { server_id, network_label } = params
  const addresses = await addressesOnNetwork(app.db, context, server_id, network_label)
  return { body: networkAddressesView(addresses) }
}

/** GET /servers/{server_id}/os-interface/{port_id} */
const showServerInterface: Handler<operations['showServerInterface']> = async (call) => {
  const { app, context, params } = call
  const port = await serverInterface(app.db, context, params.server_id, params.port_id)
  return { body: { interfaceAttachment: interfaceView(port) } }
}

export const serverNetworkHandlers = {
  attachServerInterface,
  detachServerInterface,
  listServerAddresses,
  listServerInterfaces,
  listServerSecurityGroups,
  listServerVirtualInterfaces: gone,
  showServerAddresses,
  showServerInterface,
}

/** A NIC of a server, by its port. */
function interfaceView(port: Port) {
  return {
    net_id: port.networkId,
    port_id: port.id,
    mac_addr: port.macAddress,
    port_state: port.status as 'ACTIVE' | 'BUILD' | 'DOWN',
    fixed_ips: port.fixedIps.map(({ subnetId, address }) => ({
      ip_address: address,
      subnet_id: subnetId,
    })),
    tag: port.nicTag,
  }
}

/** A server's addresses without what they are used for. */
function networkAddressesView(addresses: ServerRecord['addresses']) {
  const entries = Object.entries(addresses).map(([network, listed]) => [
    network,
    listed.map(({ addr, version }) => ({ addr, version })),
  ])
  return Object.fromEntries(entries) as Record<string, { addr: string; version: 4 | 6 }[]>
}
