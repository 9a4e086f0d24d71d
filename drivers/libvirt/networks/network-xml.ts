import ipaddr from 'ipaddr.js'
import type { NicSpec, Owner } from '../../driver.ts'
import { ownerStamp } from '../ownership.ts'
import { element, renderXml, type XmlElement } from '../xml/element.ts'
import { networkName, networkUuid } from './network-name.ts'

type Address = NicSpec['fixedIps'][number]
type Gatewayed = Address & { readonly gateway: string }

/** dnsmasq's shortest. An address given to another guest can be leased again only when this has passed. */
const LEASE_MINUTES = 2

/**
 * An isolated network on a bridge of its own. The host holds the subnets' gateway addresses, so it can reach its
 * guests; libvirt's dnsmasq answers DHCP once there are entries. IPv6 is left to the config drive.
 *
 * `isOverlapping`: the host reaches another network by the same addresses. It then holds the gateway addresses alone, without
 * a route to their subnets.
 */
export function networkXml(owner: Owner, nic: NicSpec, isOverlapping = false): string {
  const name = networkName(owner, nic.networkId)
  const subnets = subnetsOf(nic)
  const [served] = subnets
  return renderXml(
    element(
      'network',
      { 'xmlns:dnsmasq': 'http://libvirt.org/schemas/network/dnsmasq/1.0' },
      element('name', {}, name),
      element('uuid', {}, networkUuid(owner, nic.networkId)),
      element('metadata', {}, ownerStamp(owner, nic.networkId)),
      element('bridge', { name, stp: 'off', delay: 0 }),
      element('mtu', { size: nic.mtu }),
      element('dns', { enable: 'no' }),
      ...subnets.map((subnet) => subnetElement(subnet, isOverlapping)),
      dnsmasqOptions([
        ...dnsServersOption(served?.dnsServers ?? []),
        ...hostRoutesOption(served?.hostRoutes ?? []),
        ...(served?.dhcp === true ? [rangeOption(served)] : []),
      ]),
    ),
  )
}

/** What DHCP is to give this NIC: libvirt serves one IPv4 subnet of a network, here the first. */
export function dhcpAddress(nic: NicSpec): Gatewayed | undefined {
  const first = subnetsOf(nic)[0]
  return first?.dhcp === true ? first : undefined
}

/** The DHCP entry of one NIC. */
export function dhcpHostXml(mac: string, address: string): string {
  const lease = element('lease', { expiry: LEASE_MINUTES, unit: 'minutes' })
  return renderXml(element('host', { mac, ip: address }, lease))
}

/** IPv4 subnets whose gateway is known, those with DHCP first. */
function subnetsOf(nic: NicSpec): readonly Gatewayed[] {
  const usable = nic.fixedIps.filter(
    (ip): ip is Gatewayed => ip.gateway !== null && ipaddr.IPv4.isValid(ip.address),
  )
  const unique = [...new Map(usable.map((ip) => [ip.cidr, ip])).values()]
  return unique.toSorted((a, b) => Number(b.dhcp) - Number(a.dhcp))
}

function subnetElement({ gateway, cidr }: Gatewayed, isOverlapping: boolean): XmlElement {
  const [, prefix] = ipaddr.parseCIDR(cidr)
  const held = isOverlapping ? 32 : prefix
  return element('ip', { family: 'ipv4', address: gateway, prefix: held })
}

function dnsServersOption(servers: readonly string[]): readonly string[] {
  const addresses = servers.filter((server) => ipaddr.IPv4.isValid(server))
  return addresses.length === 0 ? [] : [`dhcp-option=option:dns-server,${addresses.join(',')}`]
}

/**
 * RFC 3442. A guest that gets routes by this option ignores the router option, and libvirt names no router on a network
 * without forwarding.
 */
function hostRoutesOption(routes: NonNullable<Address['hostRoutes']>): readonly string[] {
  const pushedRoutes = routes
    .filter(({ destination }) => ipaddr.IPv4.isValidCIDR(destination))
    .filter(({ nexthop }) => ipaddr.IPv4.isValidFourPartDecimal(nexthop))
    .flatMap(({ destination, nexthop }) => [destination, nexthop])
  return pushedRoutes.length === 0
    ? []
    : [`dhcp-option=option:classless-static-route,${pushedRoutes.join(',')}`]
}

/**
 * Addresses of the subnet are given to those alone that have an entry. Of a range without its mask dnsmasq takes the mask of any
 * interface that has its address.
 */
function rangeOption({ cidr }: Gatewayed): string {
  const [, prefix] = ipaddr.parseCIDR(cidr)
  const network = ipaddr.IPv4.networkAddressFromCIDR(cidr).toString()
  return `dhcp-range=${network},static,${ipaddr.IPv4.subnetMaskFromPrefixLength(prefix).toString()}`
}

function dnsmasqOptions(values: readonly string[]): XmlElement | undefined {
  if (values.length === 0) return undefined
  return element(
    'dnsmasq:options',
    {},
    ...values.map((value) => element('dnsmasq:option', { value })),
  )
}
