import ipaddr from 'ipaddr.js'
import { METADATA_PORT_OWNER } from '#openapi/wire/metadata-port.ts'
import type { WireNetwork, WirePort } from '#openapi/wire/network.ts'
import { dhcpOf } from './dhcp.ts'
import { hostGroupOf } from './host-groups.ts'
import { balancersByNetwork } from './load-balancers.ts'
import {
  isExternal,
  isFiltered,
  isIpv6,
  isRouterPort,
  type NetworkIndex,
  ROUTER_GATEWAY,
  withPrefix,
} from './network-index.ts'
import {
  externalIds,
  neutronName,
  type Reference,
  refersTo,
  routerPortName,
  type WantedRow,
} from './rows.ts'

/** Networks, with their ports and DNS names. */
export function switchRows(index: NetworkIndex): readonly WantedRow[] {
  const balancers = balancersByNetwork(index)
  return [...index.networks.values()].flatMap((network) => {
    const ports = index.portsOf(network.id).map((port) => portRow(index, network, port))
    const rows = network.physicalNetwork === null ? ports : [...ports, localnetRow(network)]
    const records = dnsRecords(index, network)
    const names = Object.keys(records).length === 0 ? [] : [dnsRow(network, records)]
    const own = balancers.get(network.id) ?? []
    return [switchRow(network, { ports: rows, names, balancers: own }), ...rows, ...names]
  })
}

function switchRow(
  network: WireNetwork,
  {
    ports,
    names,
    balancers,
  }: Readonly<Record<'ports' | 'names' | 'balancers', readonly Reference[]>>,
): WantedRow {
  const { id, name, mtu, revision, tunnelKey } = network
  return {
    table: 'Logical_Switch',
    id,
    columns: {
      name: neutronName(id),
      ports: refersTo(...ports),
      dns_records: refersTo(...names),
      load_balancer: refersTo(...balancers),
      other_config: {
        mcast_snoop: 'false',
        'vlan-passthru': 'false',
        'requested-tnl-key': String(tunnelKey),
      },
      external_ids: externalIds(id, { network_name: name, mtu, revision_number: revision }),
    },
  }
}

/** The name of the port by which a provider network leaves OVN. */
export function localnetName(networkId: string): string {
  return `provnet-${networkId}`
}

/** The port by which a provider network leaves OVN, on each host that maps it to a bridge. */
function localnetRow({ id, physicalNetwork, vlan, revision }: WireNetwork): WantedRow {
  const name = localnetName(id)
  return {
    table: 'Logical_Switch_Port',
    id: name,
    columns: {
      name,
      type: 'localnet',
      addresses: ['unknown'],
      tag: vlan,
      options: { network_name: physicalNetwork! },
      external_ids: externalIds(name, { revision_number: revision }),
    },
  }
}

function portRow(index: NetworkIndex, network: WireNetwork, port: WirePort): WantedRow {
  const served = (version: 4 | 6) => {
    const row = isRouterPort(port) ? undefined : dhcpOf(index, port, version)
    return refersTo(...(row === undefined ? [] : [row]))
  }
  const cidrs = port.fixedIps.flatMap((ip) => withPrefix(index, ip) ?? [])
  return {
    table: 'Logical_Switch_Port',
    id: port.id,
    columns: {
      name: port.id,
      type: typeOf(index, port),
      ha_chassis_group: refersTo(...(isExternal(index, port) ? [hostGroupOf(port)] : [])),
      // In a network that is down no port is up.
      enabled: port.isUp && network.isUp,
      addresses: isRouterPort(port) ? ['router'] : addressesOf(port),
      port_security: isFiltered(port) ? allowedAddresses(port) : [],
      dhcpv4_options: served(4),
      dhcpv6_options: served(6),
      options: optionsOf(index, port),
      external_ids: externalIds(port.id, {
        cidrs: cidrs.join(' '),
        device_id: port.deviceId,
        device_owner: port.deviceOwner,
        network_name: neutronName(port.networkId),
        port_name: port.name,
        project_id: port.projectId,
        revision_number: port.revision,
        security_group_ids: port.securityGroupIds.join(' '),
      }),
    },
  }
}

function typeOf(index: NetworkIndex, port: WirePort): string {
  if (isRouterPort(port)) return 'router'
  if (isExternal(index, port)) return 'external'
  if (port.deviceOwner === METADATA_PORT_OWNER) return 'localport'
  return port.remoteHostId === null ? '' : 'remote'
}

function optionsOf(index: NetworkIndex, port: WirePort): Readonly<Record<string, string>> {
  const key = { 'requested-tnl-key': String(port.tunnelKey) }
  if (isRouterPort(port))
    return {
      ...key,
      'router-port': routerPortName(port.id),
      // A host that becomes the gateway announces the floating IPs, too.
      ...(port.deviceOwner === ROUTER_GATEWAY && { 'nat-addresses': 'router' }),
    }
  // The host group has the hosts that answer for it.
  if (isExternal(index, port)) return key
  // Since OVN 23.09 a port of another cell is bound by this, too.
  const hostId = port.remoteHostId ?? port.hostId
  if (hostId === null) return key
  const destination = index.state.destinations?.get(port.id) ?? hostId
  if (destination === hostId) return { ...key, 'requested-chassis': hostId }
  // The first host answers for the port's floating IPs; both have the port, also if the guest must run on the old one again.
  if (index.state.arrived?.has(port.id) === true)
    return { ...key, 'requested-chassis': `${destination},${hostId}` }
  // The other sends nothing until the guest announces itself there, which QEMU does by RARP.
  const both = `${hostId},${destination}`
  return { ...key, 'requested-chassis': both, 'activation-strategy': 'rarp' }
}

/** The addresses for which OVN answers, and whose packets it delivers to the port. */
function addressesOf(port: WirePort): readonly string[] {
  const own = [port.mac, ...port.fixedIps.map(({ address }) => address)].join(' ')
  // Without an address: the guest answers for its further addresses itself.
  const others = port.allowedPairs.flatMap(({ mac }) =>
    mac === null || mac === port.mac ? [] : [mac],
  )
  // OVN answers ARP only for ports whose every address it knows.
  const isKnown =
    port.hasPortSecurity || port.isMachine === true || port.deviceOwner === METADATA_PORT_OWNER
  const unknown = isKnown ? [] : ['unknown']
  return [...new Set([own, ...others, ...unknown])]
}

/** The permitted source addresses of the port: a line for each MAC address. */
function allowedAddresses(port: WirePort): readonly string[] {
  const byMac = new Map([[port.mac, port.fixedIps.map(({ address }) => address)]])
  for (const { mac, cidr } of port.allowedPairs) {
    const allowed = byMac.get(mac ?? port.mac)
    if (allowed === undefined) byMac.set(mac!, [cidr])
    else allowed.push(cidr)
  }
  return [...byMac].map(([mac, addresses]) => [mac, ...new Set(addresses)].join(' '))
}

/** By name, and by address for reverse look-ups. Names are compared in lower case (RFC 4343). */
function dnsRecords(
  index: NetworkIndex,
  { id, dnsDomain }: WireNetwork,
): Readonly<Record<string, string>> {
  const addresses = new Map<string, Set<string>>()
  const pointers: [string, string][] = []
  for (const { dnsName, fixedIps } of index.portsOf(id)) {
    if (dnsName === '' || fixedIps.length === 0) continue
    const name = dnsName.toLowerCase()
    const full = dnsDomain === '' ? name : `${name}.${dnsDomain.toLowerCase()}`
    for (const each of new Set([name, full])) {
      const known = addresses.get(each) ?? new Set()
      for (const { address } of fixedIps) known.add(address)
      addresses.set(each, known)
    }
    for (const { address } of fixedIps) pointers.push([reverseName(address), full])
  }
  const forward = [...addresses].map(([name, known]): [string, string] => [
    name,
    [...known].join(' '),
  ])
  return Object.fromEntries([...forward, ...pointers])
}

/** RFC 1035, section 3.5, and RFC 3596, section 2.5. */
function reverseName(address: string): string {
  if (!isIpv6(address)) return `${address.split('.').toReversed().join('.')}.in-addr.arpa`
  const bytes = ipaddr.parse(address).toByteArray()
  const digits = bytes.flatMap((byte) => byte.toString(16).padStart(2, '0').split(''))
  return `${digits.toReversed().join('.')}.ip6.arpa`
}

function dnsRow({ id }: WireNetwork, records: Readonly<Record<string, string>>): WantedRow {
  return {
    table: 'DNS',
    id,
    columns: { records, external_ids: { ...externalIds(id, {}), ls_name: neutronName(id) } },
  }
}
