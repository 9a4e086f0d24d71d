import ipaddr from 'ipaddr.js'
import type { WireFloatingIp, WirePort, WireRouter, WireSubnet } from '#openapi/wire/network.ts'
import { dnsServersOf } from './dhcp.ts'
import { gatewayHosts, networksOfMachines } from './host-groups.ts'
import { routerBalancers } from './load-balancers.ts'
import { isIpv6, type NetworkIndex, withPrefix } from './network-index.ts'
import {
  externalIds,
  neutronKey,
  neutronName,
  type Reference,
  refersTo,
  routerPortName,
  type WantedRow,
} from './rows.ts'

const FLOATING_NETWORK_KEY = 'fip_network_id'
/** In the `external_ids` of a floating IP's row: its external network. */
export const FLOATING_NETWORK = neutronKey(FLOATING_NETWORK_KEY)

/** Routers with their ports, routes and address translations. */
export function routerRows(index: NetworkIndex): readonly WantedRow[] {
  const floating = Map.groupBy(index.state.floatingIps, ({ routerId }) => routerId)
  return index.state.routers.flatMap((router) => {
    const gateway = router.gateway === null ? undefined : index.ports.get(router.gateway.portId)
    const hosts = gateway === undefined ? [] : gatewayHostRows(index, router, gateway)
    const interfaces = index.interfacesOf(router)
    const ports = [
      ...interfaces.map((port) => routerPortRow(index, router, port, [])),
      ...(gateway === undefined ? [] : [routerPortRow(index, router, gateway, hosts)]),
    ].filter(({ columns }) => (columns['networks'] as readonly string[]).length > 0)
    const isServed = gateway !== undefined && ports.some(({ id }) => id === gateway.id)
    const routes = routeRows(index, router, isServed ? gateway : undefined)
    const nat = isServed
      ? [
          ...(router.gateway!.hasSnat ? snatRows(index, router, gateway, interfaces) : []),
          ...(floating.get(router.id) ?? []).map((each) => floatingIpRow(index, gateway, each)),
        ]
      : []
    const own = isServed ? hosts : []
    return [routerRow(router, ports, routes, nat), ...ports, ...own, ...routes, ...nat]
  })
}

function routerRow(
  router: WireRouter,
  ports: readonly Reference[],
  routes: readonly Reference[],
  nat: readonly Reference[],
): WantedRow {
  const { id, name, isUp, revision, gateway } = router
  return {
    table: 'Logical_Router',
    id,
    columns: {
      name: neutronName(id),
      enabled: isUp,
      ports: refersTo(...ports),
      static_routes: refersTo(...routes),
      nat: refersTo(...nat),
      load_balancer: refersTo(...routerBalancers(router)),
      // Neighbours are learned by requests, not from each received ARP request.
      options: { always_learn_from_arp_request: 'false', dynamic_neigh_routers: 'true' },
      external_ids: externalIds(id, {
        router_name: name,
        gw_port_id: gateway?.portId ?? '',
        revision_number: revision,
      }),
    },
  }
}

function routerPortRow(
  index: NetworkIndex,
  router: WireRouter,
  port: WirePort,
  hosts: readonly Reference[],
): WantedRow {
  const { id, mac, fixedIps, networkId, revision } = port
  return {
    table: 'Logical_Router_Port',
    id,
    columns: {
      name: routerPortName(id),
      mac,
      networks: fixedIps.flatMap((ip) => withPrefix(index, ip) ?? []),
      enabled: port.isUp,
      gateway_chassis: refersTo(...hosts),
      ipv6_ra_configs: hosts.length > 0 ? {} : advertisements(index, port),
      external_ids: externalIds(id, {
        network_name: neutronName(networkId),
        router_name: router.id,
        revision_number: revision,
        subnet_ids: fixedIps.map(({ subnetId }) => subnetId).join(' '),
      }),
    },
  }
}

/** The advertisements of the router to IPv6 guests (RFC 4861); none if Neutron leaves them to another router. */
function advertisements(index: NetworkIndex, port: WirePort): Readonly<Record<string, string>> {
  const subnets = port.fixedIps.flatMap(({ subnetId }) => index.subnets.get(subnetId) ?? [])
  const mode = subnets.find(({ ipv6RaMode }) => ipv6RaMode !== null)?.ipv6RaMode
  if (mode === undefined || mode === null) return {}
  const { mtu, dnsDomain } = index.networks.get(port.networkId)!
  // OVN takes one.
  const dnsServer = subnets.flatMap((subnet) => dnsServersOf(index, subnet)).find(isIpv6)
  return {
    address_mode: mode.replace('-', '_'),
    send_periodic: 'true',
    mtu: String(mtu),
    ...(dnsServer !== undefined && { rdnss: dnsServer }),
    ...(dnsDomain !== '' && { dnssl: dnsDomain }),
  }
}

/**
 * The hosts that can be the gateway, the preferred one first. The first differs by router, but for routers of networks
 * with machines: OVN answers a machine for its routers only where it answers for the machine.
 */
function gatewayHostRows(
  index: NetworkIndex,
  router: WireRouter,
  gateway: WirePort,
): readonly WantedRow[] {
  const ports = [gateway, ...index.interfacesOf(router)]
  const hasMachines = ports.some(({ networkId }) => networksOfMachines(index).has(networkId))
  const candidates = gatewayHosts(index, gateway.networkId, hasMachines ? undefined : router.id)
  return candidates.map((chassis, position) => {
    const name = `${routerPortName(gateway.id)}_${chassis}`
    const priority = candidates.length - position
    return {
      table: 'Gateway_Chassis',
      id: name,
      columns: { name, chassis_name: chassis, priority, external_ids: externalIds(name, {}) },
    }
  })
}

function routeRows(
  index: NetworkIndex,
  router: WireRouter,
  gateway: WirePort | undefined,
): readonly WantedRow[] {
  const defaults = (gateway?.fixedIps ?? []).flatMap(({ subnetId }) => {
    const subnet = index.subnets.get(subnetId)
    return subnet === undefined || subnet.gateway === null
      ? []
      : [defaultRoute(router, gateway!, subnet, subnet.gateway)]
  })
  const chosen = router.routes.map(({ destination, nexthop }): WantedRow => {
    const id = `${router.id}_${destination}_${nexthop}`
    return {
      table: 'Logical_Router_Static_Route',
      id,
      columns: { ip_prefix: destination, nexthop, external_ids: externalIds(id, {}) },
    }
  })
  return [...new Map([...defaults, ...chosen].map((row) => [row.id, row])).values()]
}

function defaultRoute(
  router: WireRouter,
  gateway: WirePort,
  subnet: WireSubnet,
  nexthop: string,
): WantedRow {
  const id = `${router.id}_default_${subnet.id}`
  return {
    table: 'Logical_Router_Static_Route',
    id,
    columns: {
      ip_prefix: isIpv6(nexthop) ? '::/0' : '0.0.0.0/0',
      nexthop,
      output_port: routerPortName(gateway.id),
      external_ids: externalIds(id, { is_ext_gw: 'true', subnet_id: subnet.id }),
    },
  }
}

/** One for each IPv4 subnet behind the router. IPv6 is not translated. */
function snatRows(
  index: NetworkIndex,
  router: WireRouter,
  gateway: WirePort,
  interfaces: readonly WirePort[],
): readonly WantedRow[] {
  const external = gateway.fixedIps.find(({ address }) => !isIpv6(address))?.address
  if (external === undefined) return []
  const cidrs = interfaces
    .flatMap(({ fixedIps }) => fixedIps)
    .flatMap(({ subnetId }) => index.subnets.get(subnetId)?.cidr ?? [])
    .filter((cidr) => !isIpv6(cidr))
  return [...new Set(cidrs)].map((cidr) => {
    const id = `${router.id}_${cidr}`
    return {
      table: 'NAT',
      id,
      columns: {
        type: 'snat',
        external_ip: external,
        logical_ip: networkOf(cidr),
        gateway_port: refersTo({ table: 'Logical_Router_Port', id: gateway.id }),
        external_ids: externalIds(id, {}),
      },
    }
  })
}

function networkOf(cidr: string): string {
  const prefix = ipaddr.parseCIDR(cidr)[1]
  return `${ipaddr.IPv4.networkAddressFromCIDR(cidr).toString()}/${prefix}`
}

/**
 * The port's own host answers for the floating IP if every host has a bridge for the external network. Otherwise, and
 * for a port of another cell or of a machine, the gateway does.
 */
function floatingIpRow(
  index: NetworkIndex,
  gateway: WirePort,
  floating: WireFloatingIp,
): WantedRow {
  const { id, address, fixedAddress, portId, mac, revision, routerId } = floating
  const { physicalNetwork } = index.networks.get(gateway.networkId)!
  const port = index.ports.get(portId)
  const reachesAll = index.hosts.every(({ physicalNetworks }) =>
    physicalNetworks.includes(physicalNetwork ?? ''),
  )
  const isPlugged = port !== undefined && port.remoteHostId === null && port.isMachine !== true
  const isDistributed = isPlugged && reachesAll
  return {
    table: 'NAT',
    id,
    columns: {
      type: 'dnat_and_snat',
      external_ip: address,
      logical_ip: fixedAddress,
      external_mac: isDistributed ? mac : null,
      logical_port: isDistributed ? portId : null,
      gateway_port: refersTo({ table: 'Logical_Router_Port', id: gateway.id }),
      external_ids: externalIds(id, {
        fip_id: id,
        fip_port_id: portId,
        fip_external_mac: mac,
        [FLOATING_NETWORK_KEY]: floating.networkId,
        router_name: neutronName(routerId),
        revision_number: revision,
      }),
    },
  }
}
