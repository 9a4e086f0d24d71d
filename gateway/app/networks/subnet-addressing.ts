import { Failure } from '#common/errors.ts'
import type { AddressRange, HostRoute, Ipv6Mode, Subnet } from '../../db/network.ts'
import { type Cidr, contains, formatIp, type Ip, parseCidr, parseIp } from './ip.ts'
import { checkedPools, defaultPools, usableRange } from './pools.ts'

export interface AddressingDraft {
  readonly cidr: string
  readonly ip_version: 4 | 6
  readonly gateway_ip?: string | null
  readonly dns_nameservers?: readonly string[]
  readonly host_routes?: readonly HostRoute[]
  readonly allocation_pools?: readonly AddressRange[]
  readonly enable_dhcp?: boolean
  readonly ipv6_ra_mode?: Ipv6Mode | null
  readonly ipv6_address_mode?: Ipv6Mode | null
}

type Addressing = Pick<
  Subnet,
  | 'ipVersion'
  | 'cidr'
  | 'gatewayIp'
  | 'dnsServers'
  | 'hostRoutes'
  | 'pools'
  | 'ipv6RaMode'
  | 'ipv6AddressMode'
>

/** Offsets inside a subnet are 64-bit numbers; larger IPv6 prefixes are routed, not used as one subnet. */
const IPV6_PREFIX_MIN = 64
const IPV4_PREFIX_MIN = 8
const SERVERS_MAX = 5
const ROUTES_MAX = 20
const POOLS_MAX = 32

/** Everything about a new subnet's addresses, checked and in canonical spelling; throws `invalid` or `conflict`. */
export function addressing(draft: AddressingDraft): Addressing {
  const cidr = parseCidr(draft.cidr, 'cidr')
  refuseSize(cidr, draft.ip_version)
  const gateway = gatewayOf(cidr, draft.gateway_ip)
  return {
    ipVersion: cidr.version,
    cidr: `${formatIp(cidr.version, cidr.first)}/${cidr.prefix}`,
    gatewayIp: gateway === null ? null : formatIp(gateway.version, gateway.value),
    dnsServers: dnsServersOf(draft.dns_nameservers ?? []),
    hostRoutes: hostRoutesOf(draft.host_routes ?? [], cidr.version),
    pools: poolsOf(cidr, gateway, draft.allocation_pools),
    ...modesOf(cidr, draft),
  }
}

/** The pools as given, or everything but the gateway. */
export function poolsOf(
  cidr: Cidr,
  gateway: Ip | null,
  given: readonly AddressRange[] | undefined,
): readonly AddressRange[] {
  if (given === undefined) return defaultPools(cidr, gateway)
  refuseMore('allocation_pools', given, POOLS_MAX)
  return checkedPools(cidr, gateway, given)
}

/** Undefined: the first usable address; null: none. Throws `invalid` outside the subnet. */
export function gatewayOf(cidr: Cidr, given: string | null | undefined): Ip | null {
  const { first, last } = usableRange(cidr)
  if (given === null) return null
  if (given === undefined) return { version: cidr.version, value: first }
  const ip = parseIp(given, 'gateway_ip')
  if (contains(cidr, ip) && ip.value >= first && ip.value <= last) return ip
  throw new Failure(
    'invalid',
    `Invalid input for gateway_ip: ${given} is not usable in the subnet.`,
  )
}

/** The addresses in canonical form, each once. Throws `invalid` for too many, and for text that is no address. */
export function dnsServersOf(given: readonly string[]): readonly string[] {
  refuseMore('dns_nameservers', given, SERVERS_MAX)
  const servers = given.map((text) => parseIp(text, 'dns_nameservers'))
  return [...new Set(servers.map(({ version, value }) => formatIp(version, value)))]
}

/** The routes in canonical form. Throws `invalid` for too many, and for those of the other IP version. */
export function hostRoutesOf(given: readonly HostRoute[], version: 4 | 6): readonly HostRoute[] {
  refuseMore('host_routes', given, ROUTES_MAX)
  return given.map(({ destination, nexthop }) => {
    const to = parseCidr(destination, 'host_routes')
    const via = parseIp(nexthop, 'host_routes')
    if (to.version !== version || via.version !== version)
      throw new Failure(
        'invalid',
        `Invalid input for host_routes: ${destination} is not of IP version ${version}.`,
      )
    return {
      destination: `${formatIp(version, to.first)}/${to.prefix}`,
      nexthop: formatIp(version, via.value),
    }
  })
}

/** Of IPv6 addresses that are made of MACs (RFC 4291, appendix A). */
const EUI64_PREFIX = 64

function modesOf(
  { version, prefix }: Cidr,
  { ipv6_ra_mode: ra = null, ipv6_address_mode: mode = null, enable_dhcp }: AddressingDraft,
): Pick<Subnet, 'ipv6RaMode' | 'ipv6AddressMode'> {
  if (ra === null && mode === null) return { ipv6RaMode: null, ipv6AddressMode: null }
  if (version === 4)
    throw refusedMode('ipv6_ra_mode or ipv6_address_mode are not valid when ip_version is 4')
  if (enable_dhcp === false)
    throw refusedMode(
      'ipv6_ra_mode or ipv6_address_mode cannot be set when enable_dhcp is set to False',
    )
  if (ra !== null && mode !== null && ra !== mode)
    throw refusedMode(
      `ipv6_ra_mode set to '${ra}' with ipv6_address_mode set to '${mode}' is not valid. If both attributes are set, they must be the same value`,
    )
  const isFromMac = [ra, mode].some((each) => each !== null && each !== 'dhcpv6-stateful')
  if (isFromMac && prefix !== EUI64_PREFIX)
    throw refusedMode(
      `the mode '${String(mode ?? ra)}' derives addresses from MAC addresses, for which the prefix must be /64`,
    )
  return { ipv6RaMode: ra, ipv6AddressMode: mode }
}

function refusedMode(why: string): Failure {
  return new Failure('invalid', `Invalid input for operation: ${why}.`)
}

/** True if a port's address is derived from its MAC, as guests do themselves (SLAAC, RFC 4862). */
export function isAutoAddressed({ ipv6AddressMode: mode }: Subnet): boolean {
  return mode === 'slaac' || mode === 'dhcpv6-stateless'
}

function refuseSize(cidr: Cidr, version: 4 | 6): void {
  if (cidr.version !== version)
    throw new Failure(
      'invalid',
      `Invalid input for cidr: it is of IP version ${cidr.version}, but ip_version is ${version}.`,
    )
  const prefixMin = version === 4 ? IPV4_PREFIX_MIN : IPV6_PREFIX_MIN
  if (cidr.prefix < prefixMin)
    throw new Failure(
      'invalid',
      `Invalid input for cidr: the prefix /${cidr.prefix} is too short, at least /${prefixMin} is needed.`,
    )
}

function refuseMore(field: string, given: readonly unknown[], max: number): void {
  if (given.length > max)
    throw new Failure(
      'invalid',
      `Invalid input for ${field}: ${given.length} were given, at most ${max} are allowed.`,
    )
}
