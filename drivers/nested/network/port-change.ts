import ipaddr from 'ipaddr.js'
import { type Static, Type } from 'typebox'
import type { NicSpec } from '../../driver.ts'
import { Id } from '../cloud/id.ts'

/** Of a port as the cloud shows it, what the driver reads. */
export const CloudPort = Type.Object({
  id: Id,
  name: Type.String(),
  network_id: Id,
  created_at: Type.Optional(Type.String()),
  fixed_ips: Type.Array(Type.Object({ ip_address: Type.String() })),
  security_groups: Type.Array(Type.String()),
  /** Absent where the cloud cannot do without. */
  port_security_enabled: Type.Optional(Type.Boolean()),
})
export type CloudPort = Static<typeof CloudPort>

/** True if the port in the cloud has exactly the addresses of the NIC. */
export function hasAddresses({ fixed_ips: ips }: CloudPort, { fixedIps }: NicSpec): boolean {
  return isSame(
    ips.map(({ ip_address }) => ip_address),
    fixedIps.map(({ address }) => address),
  )
}

/**
 * The change of groups to request from the cloud; null: nothing holds the port up. Empty when the port has these
 * groups.
 */
export function groupsChange(port: CloudPort, groups: readonly string[] | null): object {
  const isSecured = groups !== null
  const changes = isSecured !== (port.port_security_enabled ?? true)
  return {
    ...(changes ? { port_security_enabled: isSecured } : {}),
    ...(isSame(port.security_groups, groups ?? []) ? {} : { security_groups: groups ?? [] }),
  }
}

function isSame(these: readonly string[], those: readonly string[]): boolean {
  return these.length === those.length && these.every((each) => those.includes(each))
}

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
