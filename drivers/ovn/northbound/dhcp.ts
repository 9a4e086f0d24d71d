import { createHash } from 'node:crypto'
import { METADATA_PORT_OWNER } from '#openapi/wire/metadata-port.ts'
import type { WirePort, WireSubnet } from '#openapi/wire/network.ts'
import { METADATA_ADDRESS } from './metadata-addresses.ts'
import { isExternal, isIpv6, type NetworkIndex } from './network-index.ts'
import { externalIds, type Reference, type WantedRow } from './rows.ts'

/** Seconds; Neutron's `dhcp_lease_duration` is a day, its ML2/OVN driver's default half of that. */
const LEASE_S = 43_200

/** The router of destinations on the link (RFC 3442). */
const ON_LINK = '0.0.0.0'

type Options = Readonly<Record<string, string>>

/**
 * OVN's names (ovn-nb(5), `DHCP_Options`) for the options that Neutron lets users set on a port: dnsmasq's names, and
 * numbers of RFC 2132 and RFC 5859. Other options have no effect.
 */
const OPTIONS_V4: Options = {
  '1': 'netmask',
  '3': 'router',
  '6': 'dns_server',
  '15': 'domain_name',
  '26': 'mtu',
  '42': 'ntp_server',
  '51': 'lease_time',
  '66': 'tftp_server',
  '67': 'bootfile_name',
  '121': 'classless_static_route',
  '150': 'tftp_server_address',
  '210': 'path_prefix',
  'arp-timeout': 'arp_cache_timeout',
  'bootfile-name': 'bootfile_name',
  'classless-static-route': 'classless_static_route',
  'default-ttl': 'default_ttl',
  'dns-server': 'dns_server',
  'domain-name': 'domain_name',
  'lease-time': 'lease_time',
  'log-server': 'log_server',
  'lpr-server': 'lpr_server',
  mtu: 'mtu',
  netmask: 'netmask',
  'nis-server': 'nis_server',
  'ntp-server': 'ntp_server',
  'path-prefix': 'path_prefix',
  'policy-filter': 'policy_filter',
  router: 'router',
  'router-solicitation': 'router_solicitation',
  'server-id': 'server_id',
  'server-ip-address': 'tftp_server_address',
  'swap-server': 'swap_server',
  'tcp-keepalive': 'tcp_keepalive_interval',
  'tftp-server': 'tftp_server',
  'tftp-server-address': 'tftp_server_address',
  wpad: 'wpad',
}
const OPTIONS_V6: Options = {
  '23': 'dns_server',
  '24': 'domain_search',
  'dns-server': 'dns_server',
  'domain-search': 'domain_search',
}
/** Options of type `str` in OVN, whose parser takes them only in quotes. */
const QUOTED = [
  'bootfile_name',
  'domain_name',
  'domain_search',
  'path_prefix',
  'tftp_server',
  'wpad',
]

/** One row for each subnet with DHCP, and one for each port with options of its own. */
export function dhcpRows(index: NetworkIndex): readonly WantedRow[] {
  const ofSubnets = [...index.subnets.values()].flatMap((subnet) => {
    const options = subnetOptions(index, subnet)
    return options === undefined ? [] : [dhcpRow(subnet, undefined, options)]
  })
  const ofPorts = [...index.ports.values()].flatMap((port) =>
    ([4, 6] as const).flatMap((version) => {
      const subnet = servedSubnet(index, port, version)
      const own = subnet && ownOptions(index, port, subnet)
      if (subnet === undefined || own === undefined) return []
      return [dhcpRow(subnet, port, { ...subnetOptions(index, subnet), ...own })]
    }),
  )
  return [...ofSubnets, ...ofPorts]
}

/** The row that serves a port; undefined if the port gets no address by DHCP. */
export function dhcpOf(index: NetworkIndex, port: WirePort, version: 4 | 6): Reference | undefined {
  const subnet = servedSubnet(index, port, version)
  if (subnet === undefined) return undefined
  const owner = ownOptions(index, port, subnet) === undefined ? undefined : port
  return { table: 'DHCP_Options', id: rowId(subnet, owner) }
}

/** OVN serves one subnet of each version: the first with DHCP, as in Neutron. */
function servedSubnet(index: NetworkIndex, port: WirePort, version: 4 | 6): WireSubnet | undefined {
  // Neutron's option for a port without DHCP.
  const isRefused = port.dhcpOptions.some(
    (option) =>
      option.version === version && option.name === 'dhcp_disabled' && option.value === 'true',
  )
  if (isRefused) return undefined
  return port.fixedIps
    .flatMap(({ subnetId }) => index.subnets.get(subnetId) ?? [])
    .find(
      (subnet) =>
        isIpv6(subnet.cidr) === (version === 6) && subnetOptions(index, subnet) !== undefined,
    )
}

function dhcpRow(subnet: WireSubnet, port: WirePort | undefined, options: Options): WantedRow {
  const id = rowId(subnet, port)
  return {
    table: 'DHCP_Options',
    id,
    columns: {
      cidr: subnet.cidr,
      options,
      external_ids: {
        ...externalIds(id, { revision_number: (port ?? subnet).revision }),
        subnet_id: subnet.id,
        ...(port && { port_id: port.id }),
      },
    },
  }
}

function rowId(subnet: WireSubnet, port: WirePort | undefined): string {
  return port === undefined ? subnet.id : `${subnet.id}_${port.id}`
}

/** Looked up for each port, and the same for all ports of a subnet. */
const known = new WeakMap<NetworkIndex, Map<string, Options | undefined>>()

/** Undefined for a subnet without DHCP. */
function subnetOptions(index: NetworkIndex, subnet: WireSubnet): Options | undefined {
  const options = known.get(index) ?? new Map<string, Options | undefined>()
  known.set(index, options)
  if (!options.has(subnet.id)) options.set(subnet.id, computedOptions(index, subnet))
  return options.get(subnet.id)
}

function computedOptions(index: NetworkIndex, subnet: WireSubnet): Options | undefined {
  if (!subnet.hasDhcp) return undefined
  return isIpv6(subnet.cidr) ? optionsV6(index, subnet) : optionsV4(index, subnet)
}

function optionsV4(index: NetworkIndex, subnet: WireSubnet): Options | undefined {
  const { gateway, networkId } = subnet
  const network = index.networks.get(networkId)!
  const metadata = metadataAddress(index, subnet)
  const server = gateway ?? metadata
  // The server needs an address of the subnet, and every other one may belong to a guest.
  if (server === undefined) return undefined
  const routes = routesOf(subnet, metadata)
  const dnsServers = dnsServersOf(index, subnet)
  const domain = network.dnsDomain
  return {
    server_id: server,
    server_mac: serverMac(subnet.id),
    lease_time: String(LEASE_S),
    mtu: String(network.mtu),
    ...(gateway !== null && { router: gateway }),
    ...(dnsServers.length > 0 && { dns_server: list(dnsServers) }),
    ...(domain !== '' && { domain_name: quoted(domain) }),
    ...(routes.length > 0 && { classless_static_route: list(routes) }),
  }
}

/** To the metadata service by this neighbour, and to everything else. */
function routesOf(
  { gateway, hostRoutes }: WireSubnet,
  metadata: string | undefined,
): readonly string[] {
  const own = metadata === undefined ? [] : [`${METADATA_ADDRESS}/32,${metadata}`]
  const routes = [
    ...own,
    ...hostRoutes.map(({ destination, nexthop }) => `${destination},${nexthop}`),
  ]
  // A guest that gets routes by this option ignores the router option (RFC 3442).
  return gateway === null || routes.length === 0 ? routes : [...routes, `0.0.0.0/0,${gateway}`]
}

/** Guests that configure their addresses themselves ask no server. */
function optionsV6(index: NetworkIndex, subnet: WireSubnet): Options | undefined {
  const { ipv6AddressMode, networkId } = subnet
  if (ipv6AddressMode === null || ipv6AddressMode === 'slaac') return undefined
  const dnsServers = dnsServersOf(index, subnet)
  const domain = index.networks.get(networkId)!.dnsDomain
  return {
    server_id: serverMac(subnet.id),
    ...(ipv6AddressMode === 'dhcpv6-stateless' && { dhcpv6_stateless: 'true' }),
    ...(dnsServers.length > 0 && { dns_server: list(dnsServers) }),
    // OVN writes the whole name as one label, and guests discard what has a dot in a label; the router advertises it, too.
    ...(domain !== '' && !domain.includes('.') && { domain_search: quoted(domain) }),
  }
}

/** OVN answers queries for names of ports to any server; a guest without a server sends none. */
export function dnsServersOf(index: NetworkIndex, subnet: WireSubnet): readonly string[] {
  const { dnsServers, gateway, networkId } = subnet
  const isTenants = index.networks.get(networkId)!.physicalNetwork === null
  return dnsServers.length === 0 && gateway !== null && isTenants ? [gateway] : dnsServers
}

function metadataAddress(index: NetworkIndex, subnet: WireSubnet): string | undefined {
  return index
    .portsOf(subnet.networkId)
    .find(({ deviceOwner }) => deviceOwner === METADATA_PORT_OWNER)
    ?.fixedIps.find(({ subnetId }) => subnetId === subnet.id)?.address
}

/** The options of the port on this subnet besides those of the subnet, by OVN's names; undefined: none. */
function ownOptions(index: NetworkIndex, port: WirePort, subnet: WireSubnet): Options | undefined {
  const own = { ...machineOptions(index, port, subnet), ...usersOptions(port, subnet) }
  return Object.keys(own).length === 0 ? undefined : own
}

/** OVN does not tell machines the addresses of its other ports, so the metadata service is a neighbour of theirs itself. */
function machineOptions(index: NetworkIndex, port: WirePort, subnet: WireSubnet): Options {
  const hasMetadata = !isIpv6(subnet.cidr) && metadataAddress(index, subnet) !== undefined
  if (!hasMetadata || !isExternal(index, port)) return {}
  return { classless_static_route: list(routesOf(subnet, ON_LINK)) }
}

function usersOptions(port: WirePort, subnet: WireSubnet): Options {
  const version = isIpv6(subnet.cidr) ? 6 : 4
  const names = version === 4 ? OPTIONS_V4 : OPTIONS_V6
  const entries = port.dhcpOptions.flatMap((option) => {
    const name = option.version === version ? names[option.name] : undefined
    if (name === undefined || option.value === null) return []
    return [[name, QUOTED.includes(name) ? quoted(option.value) : option.value] as const]
  })
  return Object.fromEntries(entries)
}

function list(values: readonly string[]): string {
  return `{${values.join(', ')}}`
}

/** A string of OVN's expressions, which is one of JSON. */
function quoted(text: string): string {
  return /^".*"$/.test(text) ? text : JSON.stringify(text)
}

/** The same at each start, so that guests see the same server. */
function serverMac(subnetId: string): string {
  const hex = createHash('sha256').update(subnetId).digest('hex')
  return `fa:16:3e:${hex.slice(0, 2)}:${hex.slice(2, 4)}:${hex.slice(4, 6)}`
}
