import { type Static, Type } from 'typebox'
import { Texts } from './scalars.ts'

/** An aggregate that a host is in. Its metadata may name the zone of its hosts (`availability_zone`). */
export const HostAggregate = Type.Object({
  id: Type.Integer({ minimum: 1 }),
  metadata: Texts,
})
export type HostAggregate = Static<typeof HostAggregate>

/** What administrators decided about a host as a resource provider, besides what it reports itself. */
export const ProviderSettings = Type.Object({
  /** Traits that it has besides those that its driver finds, in order. */
  traits: Type.Array(Type.String()),
  /** How much it keeps for itself, instead of what it reports; absent: what it reports. */
  reserved: Type.Optional(
    Type.Object({
      vcpus: Type.Optional(Type.Integer({ minimum: 0 })),
      memoryMb: Type.Optional(Type.Integer({ minimum: 0 })),
      diskGb: Type.Optional(Type.Integer({ minimum: 0 })),
    }),
  ),
})
export type ProviderSettings = Static<typeof ProviderSettings>
