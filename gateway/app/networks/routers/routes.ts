import type { Executor } from '#common/db/database.ts'
import type { HostRoute, Subnet } from '../../../db/network.ts'
import type { AttachedSubnet, Router } from '../../../db/routers.ts'
import { subnetsOfNetworks } from '../../../db/subnets.ts'
import { contains, formatIp, overlaps, parseCidr, parseIp } from '../ip.ts'
import { badRequest, NetworkFailure } from '../network-failure.ts'

/** Neutron's `max_routes`. */
const ROUTES_MAX = 30

/**
 * The routes in canonical spelling, each once. Throws `invalid` for text that is not a route, and for more routes than
 * a router may have.
 */
export function checkedRoutes(routerId: string, given: readonly HostRoute[]): readonly HostRoute[] {
  const routes = new Map(given.map((route) => [routeKey(route), canonicalRoute(route)]))
  if (routes.size <= ROUTES_MAX) return [...routes.values()]
  throw new NetworkFailure(
    'invalid',
    'RoutesExhausted',
    `Unable to complete operation for ${routerId}. The number of routes exceeds the maximum ${ROUTES_MAX}.`,
  )
}

/** Throws `invalid` when a route's next hop is on no subnet of the router, or the router itself. */
export async function refuseUnreachable(
  db: Executor,
  { gateway, routes }: Router,
  attached: readonly AttachedSubnet[],
): Promise<void> {
  if (routes.length === 0) return
  const outside = gateway === null ? [] : await subnetsOfNetworks(db, [gateway.networkId])
  const subnets = [...attached.map(({ subnet }) => subnet), ...outside]
  const own = [...attached, ...(gateway?.fixedIps ?? [])].map(({ address }) => address)
  for (const { nexthop } of routes) {
    if (!subnets.some((subnet) => isOn(subnet, nexthop)))
      throw invalidRoutes(routes, 'the nexthop is not connected with router')
    if (own.includes(nexthop)) throw invalidRoutes(routes, 'the nexthop is used by router')
  }
}

/** True when a route of the router leads over the subnet. */
export function leadsOver({ routes }: Router, subnet: Subnet): boolean {
  return routes.some(({ nexthop }) => isOn(subnet, nexthop))
}

/** The route in the spelling that is kept. Throws `invalid`. */
export function canonicalRoute({ destination, nexthop }: HostRoute): HostRoute {
  const to = parseCidr(destination, 'routes')
  const via = parseIp(nexthop, 'routes')
  const route = {
    destination: `${formatIp(to.version, to.first)}/${to.prefix}`,
    nexthop: formatIp(via.version, via.value),
  }
  if (to.version === via.version) return route
  throw invalidRoutes([route], 'the destination and the nexthop are of different IP versions')
}

/** Throws `invalid` when the subnet is one of the others, or overlaps one. */
export function refuseOverlap(subnet: Subnet, others: readonly Subnet[]): void {
  if (others.some(({ id }) => id === subnet.id)) throw subnetAlreadyAttached(subnet.id)
  const cidr = parseCidr(subnet.cidr, 'cidr')
  const hit = others.find((other) => overlaps(cidr, parseCidr(other.cidr, 'cidr')))
  if (hit !== undefined)
    throw badRequest(
      'router',
      `Cidr ${subnet.cidr} of subnet ${subnet.id} overlaps with cidr ${hit.cidr} of subnet ${hit.id}`,
    )
}

/** The router has the subnet by another port. */
export function subnetAlreadyAttached(subnetId: string): NetworkFailure {
  return badRequest('router', `Router already has a port on subnet ${subnetId}`)
}

function isOn({ cidr }: Subnet, address: string): boolean {
  return contains(parseCidr(cidr, 'cidr'), parseIp(address, 'routes'))
}

/** Equal for equal routes. */
export function routeKey({ destination, nexthop }: HostRoute): string {
  return `${destination} ${nexthop}`
}

function invalidRoutes(routes: readonly HostRoute[], why: string): NetworkFailure {
  const text = JSON.stringify(routes)
  return new NetworkFailure(
    'invalid',
    'InvalidRoutes',
    `Invalid format for routes: ${text}, ${why}`,
  )
}
