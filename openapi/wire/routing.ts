import { type Static, Type } from 'typebox'
import { Nullable, OneOf, Uuid } from './scalars.ts'

const Address = Type.String({ minLength: 2, maxLength: 45 })
const Cidr = Type.String({ minLength: 4, maxLength: 49 })

/** A network outside, as gateways know it. */
export const OutsideNetwork = Type.Object({
  id: Uuid,
  /** With the VLAN on it, such as `site:7`, if the network is one; null: the only one that the host's cloud has. */
  physicalNetwork: Nullable(Type.String()),
})
export type OutsideNetwork = Static<typeof OutsideNetwork>

export const HostRouter = Type.Object({
  id: Uuid,
  name: Type.String(),
  isUp: Type.Boolean(),
  gateway: Nullable(Type.Object({ outside: OutsideNetwork, hasSnat: Type.Boolean() })),
  /** Its ports on networks, also on those that no server of the host is on. */
  interfaces: Type.Array(
    Type.Object({
      portId: Uuid,
      networkId: Uuid,
      addresses: Type.Array(Type.Object({ cidr: Cidr, address: Address })),
    }),
  ),
  routes: Type.Array(Type.Object({ destination: Cidr, nexthop: Address })),
})
export type HostRouter = Static<typeof HostRouter>

/** A floating IP that leads to a port of the host. */
export const HostFloatingIp = Type.Object({
  id: Uuid,
  address: Address,
  outside: OutsideNetwork,
  portId: Uuid,
  fixedAddress: Address,
})
export type HostFloatingIp = Static<typeof HostFloatingIp>

/** How the guests of one host are to be routed. */
export const HostRouting = Type.Object({
  /** The networks of its servers: of these nothing else is to be on a router. */
  networkIds: Type.Array(Uuid),
  routers: Type.Array(HostRouter),
  floatingIps: Type.Array(HostFloatingIp),
})
export type HostRouting = Static<typeof HostRouting>

/** Why a router or floating IP is not as it is to be. Of one that is `DOWN` no more is known to be wrong than that it is not there yet. */
export const RoutingProblem = Type.Object({
  id: Uuid,
  status: OneOf(['DOWN', 'ERROR'] as const),
  reason: Type.String({ maxLength: 1000 }),
})
export type RoutingProblem = Static<typeof RoutingProblem>
