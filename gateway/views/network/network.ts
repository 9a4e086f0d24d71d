import type { Requester } from '../../app/requester.ts'
import type { Network } from '../../db/network.ts'
import { describedView } from './described.ts'

/** A network; which cells it reaches is shown to administrators. */
export function networkView(network: Network, requester: Requester) {
  const cells = network.isEverywhere ? null : network.cellIds
  return {
    ...describedView(network),
    admin_state_up: network.isUp,
    status: 'ACTIVE' as const,
    shared: network.isShared || isSharedWith(network, requester),
    'router:external': network.isExternal,
    mtu: network.mtu,
    port_security_enabled: network.hasPortSecurity,
    subnets: network.subnetIds,
    availability_zone_hints: [],
    availability_zones: [],
    ipv4_address_scope: null,
    ipv6_address_scope: null,
    ...(requester.isAdmin ? { 'weir:cells': cells } : {}),
  }
}

/** A network of another project that is neither shared nor external is visible only to callers whom a policy lets. */
function isSharedWith({ projectId, isExternal }: Network, requester: Requester): boolean {
  return !isExternal && !requester.isAdmin && projectId !== requester.projectId
}
