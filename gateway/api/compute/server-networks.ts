import type { operations } from '#openapi/compute.gen.ts'
import { addressesOnNetwork } from '../../app/servers/interfaces/addresses-on-network.ts'
import { attachInterface } from '../../app/servers/interfaces/attach-interface.ts'
import { detachInterface } from '../../app/servers/interfaces/detach-interface.ts'
import { serverGroups } from '../../app/servers/interfaces/server-groups-of-ports.ts'
import {
  serverInterface,
  serverInterfaces,
} from '../../app/servers/interfaces/server-interfaces.ts'
import { showServer } from '../../app/servers/list/show-server.ts'
import type { Handler } from '../../http/operation.ts'
import { interfaceView } from '../../views/interface-attachment.ts'
import { networkAddressesView } from '../../views/network-addresses.ts'
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
