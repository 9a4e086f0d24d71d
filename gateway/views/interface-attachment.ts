import type { Port } from '../db/network.ts'

/** A NIC of a server, by its port. */
export function interfaceView(port: Port) {
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
