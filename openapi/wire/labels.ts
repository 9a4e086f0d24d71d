import { type Static, Type } from 'typebox'
import { Nullable, OneOf, Texts, Uuid } from './scalars.ts'

/** What the metadata service says of a server besides its labels, all of which may change while it runs. */
export const GuestLabels = Type.Object({
  /** The names of its security groups. */
  securityGroups: Type.Array(Type.String()),
  /** The first of its floating IPs; null: it has none. */
  publicIpv4: Nullable(Type.String()),
  /** How often the password that the guest published was cleared. */
  passwordClears: Type.Integer({ minimum: 0 }),
})
export type GuestLabels = Static<typeof GuestLabels>

/** Names and labels that a user gives a server, all of which may change while it runs. */
export const ServerLabels = Type.Object({
  serverId: Uuid,
  name: Type.String(),
  hostname: Type.String(),
  description: Nullable(Type.String()),
  metadata: Texts,
  tags: Type.Array(Type.String()),
  diskConfig: OneOf(['AUTO', 'MANUAL'] as const),
  accessIPv4: Nullable(Type.String()),
  accessIPv6: Nullable(Type.String()),
  /** Absent for a host without a metadata service. */
  guest: Type.Optional(GuestLabels),
})
export type ServerLabels = Static<typeof ServerLabels>
