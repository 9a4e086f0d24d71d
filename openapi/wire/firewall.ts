import { type Static, Type } from 'typebox'
import { Nic } from './instance.ts'
import { Nullable, Uuid } from './scalars.ts'

export const FilterRule = Type.Object({
  direction: Type.Union([Type.Literal('ingress'), Type.Literal('egress')]),
  version: Type.Union([Type.Literal(4), Type.Literal(6)]),
  /** IANA's number; null: any. */
  protocol: Nullable(Type.Integer({ minimum: 0, maximum: 255 })),
  /** Ports of the receiver, or ICMP's type and code; null: any. */
  portMin: Nullable(Type.Integer()),
  portMax: Nullable(Type.Integer()),
  /** Networks the other side may be in; null: any. */
  remotes: Nullable(Type.Array(Type.String())),
  /** The security group whose rule it is, and the one whose members `remotes` are; absent: none. */
  groupId: Type.Optional(Uuid),
  remoteGroupId: Type.Optional(Uuid),
})
export type FilterRule = Static<typeof FilterRule>

/** The addresses of an instance's port and its permitted traffic; `rules` null: all traffic, from any address. */
export const PortFilter = Type.Object({
  serverId: Uuid,
  nic: Nic,
  rules: Nullable(Type.Array(FilterRule)),
  /** The security groups that the rules are of; one may have none. */
  groupIds: Type.Optional(Type.Array(Uuid)),
})
export type PortFilter = Static<typeof PortFilter>
