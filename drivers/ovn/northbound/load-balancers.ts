import type { WireForwarding, WireRouter } from '#openapi/wire/network.ts'
import type { NetworkIndex } from './network-index.ts'
import { externalIds, neutronName, type Reference, type WantedRow } from './rows.ts'

/**
 * The forwarded ports of floating IPs: a load balancer for each floating IP and protocol, with an entry for each port, as
 * Neutron's OVN driver makes them.
 */
export function loadBalancerRows({ state }: NetworkIndex): readonly WantedRow[] {
  return state.routers.flatMap((router) =>
    [...balancersOf(router)].map(([id, forwardings]) => balancerRow(router, id, forwardings)),
  )
}

/** The load balancers that a router has. */
export function routerBalancers(router: WireRouter): readonly Reference[] {
  return [...balancersOf(router).keys()].map(balancer)
}

/** By network, the load balancers of its routers: its servers reach the floating IPs, too. */
export function balancersByNetwork(index: NetworkIndex): ReadonlyMap<string, readonly Reference[]> {
  const byNetwork = new Map<string, Reference[]>()
  for (const router of index.state.routers) {
    const own = routerBalancers(router)
    if (own.length === 0) continue
    const networks = new Set(index.interfacesOf(router).map(({ networkId }) => networkId))
    for (const id of networks) byNetwork.set(id, [...(byNetwork.get(id) ?? []), ...own])
  }
  return byNetwork
}

function balancer(id: string): Reference {
  return { table: 'Load_Balancer', id }
}

/** By name; none for a router that does not lead outside. */
function balancersOf({ gateway, forwardings = [] }: WireRouter) {
  return Map.groupBy(
    gateway === null ? [] : forwardings,
    ({ floatingIpId, protocol }) => `pf-floatingip-${floatingIpId}-${protocol}`,
  )
}

function balancerRow(
  { id: routerId }: WireRouter,
  name: string,
  forwardings: readonly WireForwarding[],
): WantedRow {
  const [{ floatingIpId, protocol }] = forwardings as readonly [WireForwarding]
  return {
    table: 'Load_Balancer',
    id: name,
    columns: {
      name,
      protocol,
      vips: Object.fromEntries(forwardings.flatMap(entriesOf)),
      external_ids: externalIds(name, {
        device_owner: 'port_forwarding_plugin',
        fip_id: floatingIpId,
        router_name: neutronName(routerId),
      }),
    },
  }
}

/** An entry for each external port. */
function entriesOf({
  floatingAddress,
  externalFirst,
  externalLast,
  address,
  internalFirst,
  internalLast,
}: WireForwarding): readonly (readonly [string, string])[] {
  const step = internalFirst === internalLast ? 0 : 1
  return Array.from({ length: externalLast - externalFirst + 1 }, (_, place) => [
    `${floatingAddress}:${externalFirst + place}`,
    `${address}:${internalFirst + step * place}`,
  ])
}
