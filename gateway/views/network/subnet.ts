import type { Subnet } from '../../db/network.ts'
import { describedView } from './described.ts'

export function subnetView(subnet: Subnet) {
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
    ipv6_ra_mode: null,
    ipv6_address_mode: null,
    subnetpool_id: null,
    service_types: [],
  }
}
