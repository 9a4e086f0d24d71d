import type { Executor } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import type {
  NetworkState,
  WireNetwork,
  WirePort,
  WireRouter,
  WireRule,
  WireSubnet,
} from '#openapi/wire/network.ts'
import {
  type CellRouter,
  floatingIpsThrough,
  networksOfRouters,
  networksOfServersIn,
  type PlacedPort,
  placedPorts,
  routersOnNetworks,
} from '../../db/cell-networks.ts'
import type { Network, SecurityGroupRule, Subnet } from '../../db/network.ts'
import { findNetworks } from '../../db/networks.ts'
import { findSecurityGroups } from '../../db/security-groups.ts'
import { subnetsOfNetworks } from '../../db/subnets.ts'
import { networkOf } from './ip.ts'
import { protocolNumber } from './rule-of.ts'

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
  const gatewayPorts = gateways.map((router) => router.gatewayPortId!)
  const placed = await placedPorts(db, inner, gatewayPorts)
  const ports = placed.filter(({ port }) => port.deviceOwner !== FLOATING_IP)
  const groupIds = ports.flatMap(({ port }) => port.securityGroupIds)
  const floating = await floatingIpsThrough(
    db,
    found.map(({ id }) => id),
  )
  return {
    networks: (await findNetworks(db, networkIds)).map(wireNetwork).toSorted(byId),
    subnets: (await subnetsOfNetworks(db, networkIds)).map(wireSubnet).toSorted(byId),
    ports: ports.map((port) => wirePort(port, cellId)).toSorted(byId),
    securityGroups: (await groupsAndRemotes(db, groupIds)).toSorted(byId),
    routers: found.map(wireRouter).toSorted(byId),
    floatingIps: floating
      .map(({ floatingIp: { id, revision, address, networkId, ...to }, mac }) => ({
        ...{ id, revision, address, networkId, mac },
        routerId: to.routerId!,
        portId: to.fixedPortId!,
        fixedAddress: to.fixedAddress!,
      }))
      .toSorted(byId),
    remoteHosts: [],
  }
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1
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
  }
}

function wireRule(rule: SecurityGroupRule): WireRule {
  const { id, direction, etherType, protocol, portMin, portMax, remoteCidr } = rule
  return {
    ...{ id, direction, portMin, portMax, remoteGroupId: rule.remoteGroupId },
    version: etherType === 'IPv4' ? 4 : 6,
    protocol: protocol === null ? null : protocolNumber(protocol),
    remoteCidr: remoteCidr === null ? null : networkOf(remoteCidr, 'remote_ip_prefix'),
  }
}

function wireRouter({ id, revision, name, isUp, ...router }: CellRouter): WireRouter {
  const { gatewayPortId: portId, hasSnat } = router
  return {
    ...{ id, revision, name, isUp },
    gateway: portId === null ? null : { portId, hasSnat },
    routes: [...router.routes],
  }
}
