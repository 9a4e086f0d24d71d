import type { Requester } from '../app/requester.ts'
import type { Network } from '../db/network.ts'

const FIELDS = [
  'cidr',
  'netmask',
  'gateway',
  'broadcast',
  'dns1',
  'dns2',
  'cidr_v6',
  'gateway_v6',
  'netmask_v6',
]
const FIELDS_OF_ADMINS = [
  'created_at',
  'updated_at',
  'deleted_at',
  'deleted',
  'injected',
  'bridge',
  'vlan',
  'vpn_public_address',
  'vpn_public_port',
  'vpn_private_address',
  'dhcp_start',
  'project_id',
  'host',
  'bridge_interface',
  'multi_host',
  'priority',
  'rxtx_base',
  'mtu',
  'dhcp_server',
  'enable_dhcp',
  'share_address',
]

/** Nova keeps the names of what only nova-network knew, without values (nova/api/openstack/compute/networks.py). */
export function proxiedNetworkView({ id, name }: Network, { isAdmin }: Requester) {
  const fields = isAdmin ? [...FIELDS, ...FIELDS_OF_ADMINS] : FIELDS
  return { ...Object.fromEntries(fields.map((field) => [field, null])), id, label: name }
}

/** `None` is Python's, and what Nova says. */
export function tenantNetworkView({ id, name }: Network) {
  return { id, label: name, cidr: 'None' }
}
