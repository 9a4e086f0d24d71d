import type { HostId } from '#common/ids.ts'
import { ROUTER_INTERFACE } from '#drivers/ovn/northbound/network-index.ts'
import type { NetworkState, WirePort, WireRouter } from '#openapi/wire/network.ts'
import type {
  HostFloatingIp,
  HostRouter,
  HostRouting,
  OutsideNetwork,
} from '#openapi/wire/routing.ts'

/** How the servers of one host are to be routed: the part of the cell's network state that a host with routers of its own needs. */
export function hostRouting(state: NetworkState, hostId: HostId): HostRouting {
  const portIds = new Set<string>()
  const networkIds = new Set<string>()
  for (const port of state.ports) {
    if (port.hostId !== hostId) continue
    portIds.add(port.id)
    networkIds.add(port.networkId)
  }
  const byRouter = Map.groupBy(
    state.ports.filter(({ deviceOwner }) => deviceOwner === ROUTER_INTERFACE),
    ({ deviceId }) => deviceId,
  )
  const routers = state.routers.flatMap((router) => {
    const ports = byRouter.get(router.id) ?? []
    const isOn = ports.some(({ networkId }) => networkIds.has(networkId))
    return isOn ? [routerOf(state, router, ports)] : []
  })
  const floatingIps = state.floatingIps
    .filter(({ portId }) => portIds.has(portId))
    .map(
      ({ id, address, networkId, portId, fixedAddress }): HostFloatingIp => ({
        ...{ id, address, portId, fixedAddress },
        outside: outsideOf(state, networkId),
      }),
    )
  return {
    networkIds: [...networkIds].toSorted(),
    routers: routers.toSorted(byId),
    floatingIps: floatingIps.toSorted(byId),
  }
}

function routerOf(
  state: NetworkState,
  { id, name, isUp, gateway, routes }: WireRouter,
  ports: readonly WirePort[],
): HostRouter {
  const way = state.ports.find((port) => port.id === gateway?.portId)
  const cidrOf = new Map(state.subnets.map((subnet) => [subnet.id, subnet.cidr]))
  return {
    ...{ id, name, isUp, routes },
    gateway:
      gateway === null || way === undefined
        ? null
        : { outside: outsideOf(state, way.networkId), hasSnat: gateway.hasSnat },
    interfaces: ports.toSorted(byId).map(({ id: portId, networkId, fixedIps }) => ({
      ...{ portId, networkId },
      addresses: fixedIps.flatMap(({ subnetId, address }) => {
        const cidr = cidrOf.get(subnetId)
        return cidr === undefined ? [] : [{ cidr, address }]
      }),
    })),
  }
}

function outsideOf({ networks }: NetworkState, id: string): OutsideNetwork {
  const { physicalNetwork = null, vlan = null } =
    networks.find((network) => network.id === id) ?? {}
  const isVlan = physicalNetwork !== null && vlan !== null
  return { id, physicalNetwork: isVlan ? `${physicalNetwork}:${vlan}` : physicalNetwork }
}

/** Always in one order: a list in another would be taken for a change. */
function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1
}
