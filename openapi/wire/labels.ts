import { type Static, Type } from 'typebox'
import { Nullable, OneOf, Texts, Uuid } from './scalars.ts'

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
})
export type ServerLabels = Static<typeof ServerLabels>
