import type { Requester } from '../../app/requester.ts'
import type { Port } from '../../db/network.ts'
import { describedView } from './described.ts'

/** A port; where it is plugged in is shown to administrators. */
export function portView(port: Port, requester: Requester) {
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
    allowed_address_pairs: [],
    extra_dhcp_opts: [],
    'binding:vnic_type': 'normal',
    ...(requester.isAdmin ? bindingView(port) : {}),
  }
}

function bindingView(port: Port) {
  return {
    'binding:host_id': port.hostName,
    'binding:vif_type': port.hostName === '' ? ('unbound' as const) : ('bridge' as const),
    'binding:profile': {},
    'binding:vif_details': {},
  }
}
