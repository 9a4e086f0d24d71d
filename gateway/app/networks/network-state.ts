import { createHash } from 'node:crypto'
import type { Executor } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import type {
  NetworkState,
  WireForwarding,
  WireNetwork,
  WirePort,
  WireRouter,
  WireRule,
  WireSubnet,
} from '#openapi/wire/network.ts'
import {
  type CellRouter,
  floatingIpsThrough,
  joinedHosts,
  networksOfRouters,
  networksOfServersIn,
  type PlacedPort,
  placedPorts,
  routersOnNetworks,
} from '../../db/cell-networks.ts'
import type { Network, Port, SecurityGroupRule, Subnet } from '../../db/network.ts'
import { findNetworks } from '../../db/networks.ts'
import { forwardingsThrough, type PortForwarding } from '../../db/port-forwardings.ts'
import { cellGateways } from '../../db/router-gateways.ts'
import { routingHosts } from '../../db/routing-hosts.ts'
import { findSecurityGroups } from '../../db/security-groups.ts'
import { subnetsOfNetworks } from '../../db/subnets.ts'
import { networkOf } from './ip.ts'
import { filteredProtocol } from './rule-of.ts'
import { ROUTER_GATEWAY } from './service-ports.ts'

type PlacedForwarding = PortForwarding & { readonly floatingAddress: string }

/** Ports of floating IPs hold an address and are in no data plane. */
const FLOATING_IP = 'network:floatingip'

/**
 * The wanted content of a cell's network engine: the networks of its servers, and those that routers connect with them,
 * with all their ports in any cell, and the objects that these refer to.
 */
export async function networkState(db: Executor, cellId: CellId): Promise<NetworkState> {
  const { inner, routers: found } = await reached(db, await networksOfServersIn(db, cellId))
  const gateways = found.filter((router) => router.gatewayNetworkId !== null)
  const external = gateways.map((router) => router.gatewayNetworkId!)
  const networkIds = [...new Set([...inner, ...external])].toSorted()
  const leading = await gatewaysIn(db, cellId, gateways)
  const gatewayPorts = gateways.map(
    (router) => leading.get(router.id)?.portId ?? router.gatewayPortId!,
  )
  const placed = await placedPorts(db, inner, gatewayPorts)
  const ports = placed.filter(
    ({ port }) => port.deviceOwner !== FLOATING_IP && !isOfOtherCell(port, found, gatewayPorts),
  )
  const groupIds = ports.flatMap(({ port }) => port.securityGroupIds)
  const routerIds = found.map(({ id }) => id)
  const floating = await floatingIpsThrough(db, routerIds)
  const cellOf = new Map(placed.map(({ port, cellId: of }) => [port.id, of]))
  const joined = await joinedHosts(db)
  const networks = await findNetworks(db, networkIds)
  const isHome = (routerId: string) => leading.get(routerId)?.isHome === true
  const engines = new Set(joined.map((host) => host.cellId))
  const forwardings = engines.has(cellId)
    ? ownForwardings(await forwardingsThrough(db, routerIds), cellOf, cellId)
    : []
  const clouds = (await routingHosts(db)).map((host) => host.cellId)
  const able = new Set<string | null | undefined>([...engines, ...clouds])
  // The clouds of a cell route for themselves: each has an external address of its own.
  const isByClouds = clouds.includes(cellId) && !engines.has(cellId)
  const remote = new Set(
    placed.flatMap((each) => (each.cellId === cellId ? [] : (each.hostId ?? []))),
  )
  return {
    networks: networks.map(wireNetwork).toSorted(byId),
    subnets: (await subnetsOfNetworks(db, networkIds)).map(wireSubnet).toSorted(byId),
    ports: ports
      .map((port) => wirePort(port, cellId))
      .map((port) => (isLed(port, found, leading) ? port : gatewayElsewhere(port, cellId)))
      .toSorted(byId),
    securityGroups: (await groupsAndRemotes(db, groupIds)).toSorted(byId),
    routers: found
      .map((router) => {
        const own = forwardings.filter(({ routerId }) => routerId === router.id)
        const wire = wireRouter(router, leading.get(router.id), isByClouds)
        return own.length === 0 ? wire : { ...wire, forwardings: own.map(wireForwarding) }
      })
      .toSorted(byId),
    floatingIps: floating
      // Two cells that answered for one address would disturb each other.
      .filter(({ floatingIp: { fixedPortId, routerId } }) => {
        const own = cellOf.get(fixedPortId!)
        return able.has(own) ? own === cellId : isHome(routerId!)
      })
      .map(({ floatingIp: { id, revision, address, networkId, ...to }, mac }) => ({
        ...{ id, revision, address, networkId, mac },
        routerId: to.routerId!,
        portId: to.fixedPortId!,
        fixedAddress: to.fixedAddress!,
      }))
      .toSorted(byId),
    remoteHosts: joined
      .filter(({ id }) => remote.has(id))
      .map(({ id, name, encapAddress }) => ({ id, name, encapAddress })),
  }
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1
}

/** How a router leads outside in a cell. */
interface Leading {
  readonly portId: string
  /** True in the cell with the router's own address. */
  readonly isHome: boolean
}

/** By router, how it leads outside in this cell; nothing for one that does not. */
async function gatewaysIn(
  db: Executor,
  cellId: CellId,
  routers: readonly CellRouter[],
): Promise<ReadonlyMap<string, Leading>> {
  const ids = routers.map(({ id }) => id)
  const own = new Set(routers.map(({ gatewayPortId }) => gatewayPortId))
  const here = (await cellGateways(db, ids)).filter((each) => each.cellId === cellId)
  return new Map(
    here.map(({ routerId, portId }) => [routerId, { portId, isHome: own.has(portId) }]),
  )
}

/** True for a gateway by which one of these routers leads outside in another cell. */
function isOfOtherCell(
  { id, deviceOwner, deviceId }: Port,
  routers: readonly CellRouter[],
  here: readonly string[],
): boolean {
  if (deviceOwner !== ROUTER_GATEWAY || here.includes(id)) return false
  return routers.some((router) => router.id === deviceId)
}

/** False for the gateway of a router that does not lead outside in this cell. */
function isLed(
  { deviceOwner, deviceId }: WirePort,
  routers: readonly CellRouter[],
  leading: ReadonlyMap<string, Leading>,
): boolean {
  if (deviceOwner !== ROUTER_GATEWAY || leading.has(deviceId)) return true
  return !routers.some(({ id }) => id === deviceId)
}

/**
 * A router's gateway in a cell in which it has no address outside: it leads floating IPs of the cell's own ports, and never
 * answers for the router's own address. Its own is one of the link (RFC 3927), which no one asks for.
 */
function gatewayElsewhere(port: WirePort, cellId: CellId): WirePort {
  if (port.deviceOwner !== ROUTER_GATEWAY) return port
  const hash = createHash('sha256').update(`${port.id} ${cellId}`).digest()
  const [a = 0, b = 0, c = 0] = hash
  const hex = [a, b, c].map((byte) => byte.toString(16).padStart(2, '0')).join(':')
  // 169.254.0 and 169.254.255 are reserved.
  const address = `169.254.${1 + (a % 254)}.${1 + (b % 254)}`
  return {
    ...port,
    mac: `02:16:3e:${hex}`,
    fixedIps: port.fixedIps
      .filter((ip) => !ip.address.includes(':'))
      .map(({ subnetId }) => ({ subnetId, address })),
  }
}

/** From these networks over routers to others, until no further network is reached. */
async function reached(
  db: Executor,
  start: readonly string[],
): Promise<{ readonly inner: readonly string[]; readonly routers: readonly CellRouter[] }> {
  const seen = new Set(start)
  const found = new Map<string, CellRouter>()
  for (let next = [...start]; next.length > 0; ) {
    const new_ = (await routersOnNetworks(db, next)).filter(({ id }) => !found.has(id))
    for (const router of new_) found.set(router.id, router)
    const joined = await networksOfRouters(
      db,
      new_.map(({ id }) => id),
    )
    next = joined.filter((id) => !seen.has(id))
    for (const id of next) seen.add(id)
  }
  return { inner: [...seen], routers: [...found.values()] }
}

/** The groups, and those that their rules name: a rule lets the members of a group in that no port here has. */
async function groupsAndRemotes(db: Executor, ids: readonly string[]) {
  const own = await findSecurityGroups(db, [...new Set(ids)])
  const known = new Set(own.map(({ id }) => id))
  const named = own.flatMap(({ rules }) => rules.flatMap((rule) => rule.remoteGroupId ?? []))
  const others = await findSecurityGroups(
    db,
    [...new Set(named)].filter((id) => !known.has(id)),
  )
  return [...own, ...others].map(({ id, revision, name, rules }) => ({
    ...{ id, revision, name },
    rules: rules.map(wireRule).toSorted(byId),
  }))
}

/** Those of the floating IPs that this cell answers for, which the first forwarding to a placed server decides. */
function ownForwardings(
  all: readonly PlacedForwarding[],
  cellOf: ReadonlyMap<string, string | null>,
  cellId: CellId,
): readonly PlacedForwarding[] {
  const byIp = Map.groupBy(all, ({ floatingIpId }) => floatingIpId)
  return [...byIp.values()].flatMap((forwardings) => {
    const cells = forwardings.map(({ portId }) => cellOf.get(portId) ?? null)
    if (cells.find((each) => each !== null) !== cellId) return []
    return forwardings.filter((_, place) => cells[place] === cellId)
  })
}

function wireForwarding({ external, internal, ...forwarding }: PlacedForwarding): WireForwarding {
  const { floatingIpId, floatingAddress, protocol, address } = forwarding
  return {
    ...{ floatingIpId, floatingAddress, protocol, address },
    externalFirst: external.first,
    externalLast: external.last,
    internalFirst: internal.first,
    internalLast: internal.last,
  }
}

function wireNetwork(network: Network): WireNetwork {
  const { id, revision, name, projectId, isUp, isExternal, mtu, tunnelKey, dnsDomain } = network
  return {
    ...{ id, revision, name, projectId, isUp, isExternal, mtu, tunnelKey, dnsDomain },
    physicalNetwork: network.physicalNetwork,
    vlan: network.vlanId === 0 ? null : network.vlanId,
  }
}

function wireSubnet(subnet: Subnet): WireSubnet {
  const { id, revision, networkId, cidr, hasDhcp, ipv6AddressMode, ipv6RaMode } = subnet
  return {
    ...{ id, revision, networkId, cidr, hasDhcp, ipv6AddressMode, ipv6RaMode },
    gateway: subnet.gatewayIp,
    dnsServers: [...subnet.dnsServers],
    hostRoutes: [...subnet.hostRoutes],
  }
}

function wirePort({ port, cellId, hostId }: PlacedPort, here: CellId): WirePort {
  const { id, revision, networkId, projectId, name, tunnelKey, isUp, dnsName } = port
  return {
    ...{ id, revision, networkId, projectId, name, tunnelKey, isUp, dnsName },
    mac: port.macAddress.toLowerCase(),
    fixedIps: [...port.fixedIps],
    allowedPairs: port.allowedPairs.map(({ mac, address }) => ({ mac, cidr: address })),
    hasPortSecurity: port.hasPortSecurity,
    securityGroupIds: [...port.securityGroupIds].toSorted(),
    dhcpOptions: port.dhcpOptions.map((option) => ({ ...option })),
    deviceOwner: port.deviceOwner,
    deviceId: port.deviceId,
    hostId: cellId === here ? hostId : null,
    remoteHostId: cellId === null || cellId === here ? null : hostId,
    ...(port.isMachine === true && { isMachine: true }),
  }
}

function wireRule(rule: SecurityGroupRule): WireRule {
  const { id, direction, etherType, protocol, portMin, portMax, remoteCidr } = rule
  return {
    ...{ id, direction, portMin, portMax, remoteGroupId: rule.remoteGroupId },
    version: etherType === 'IPv4' ? 4 : 6,
    protocol: protocol === null ? null : filteredProtocol(protocol, etherType),
    remoteCidr: remoteCidr === null ? null : networkOf(remoteCidr, 'remote_ip_prefix'),
  }
}

function wireRouter(
  { id, revision, name, isUp, ...router }: CellRouter,
  leading: Leading | undefined,
  isByClouds: boolean,
): WireRouter {
  const portId = leading?.portId ?? router.gatewayPortId
  const hasSnat = router.hasSnat && (leading !== undefined || isByClouds)
  return {
    ...{ id, revision, name, isUp },
    gateway: portId === null ? null : { portId, hasSnat },
    routes: [...router.routes],
  }
}
