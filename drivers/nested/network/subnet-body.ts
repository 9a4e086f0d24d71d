import ipaddr from 'ipaddr.js'
import type { NicSpec } from '../../driver.ts'

type FixedIp = NicSpec['fixedIps'][number]

/** The last addresses of a subnet, which the cloud's own ports (such as of its DHCP) get: guests get theirs from us. */
const POOL_SIZE = 3
/** A smaller subnet has no addresses to set apart. */
const PREFIX_MAX = 28

/** The body of a subnet like ours. Addresses are chosen by us, so the cloud may choose few. */
export function subnetBody(networkId: string, name: string, fixed: FixedIp): object {
  const [address, prefix] = ipaddr.parseCIDR(fixed.cidr)
  const isV4 = address.kind() === 'ipv4'
  return {
    network_id: networkId,
    name,
    cidr: fixed.cidr,
    ip_version: isV4 ? 4 : 6,
    gateway_ip: fixed.gateway,
    enable_dhcp: fixed.dhcp,
    dns_nameservers: fixed.dnsServers,
    ...(fixed.hostRoutes === undefined ? {} : { host_routes: fixed.hostRoutes }),
    ...(isV4 && prefix <= PREFIX_MAX ? { allocation_pools: [lastOf(fixed.cidr)] } : {}),
  }
}

function lastOf(cidr: string): { readonly start: string; readonly end: string } {
  const broadcast = ipaddr.IPv4.broadcastAddressFromCIDR(cidr).toByteArray()
  const at = (back: number) => broadcast.with(3, broadcast[3]! - back).join('.')
  return { start: at(POOL_SIZE), end: at(1) }
}
