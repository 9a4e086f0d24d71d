import { type Static, Type } from 'typebox'
import { MacAddress, Nullable, Uuid } from './scalars.ts'

/** The most floating IPs that one message announces. */
export const ANNOUNCED_MAX = 500

/** Floating IPs that have come to a host. */
export const AddressAnnouncement = Type.Object({
  addresses: Type.Array(
    Type.Object({
      /** The external network. */
      networkId: Uuid,
      /** Null: that network is untagged. */
      vlan: Nullable(Type.Integer({ minimum: 1, maximum: 4094 })),
      /** IPv4. */
      address: Type.String({ pattern: '^[0-9]{1,3}(\\.[0-9]{1,3}){3}$' }),
      mac: MacAddress,
    }),
    { maxItems: ANNOUNCED_MAX },
  ),
})
export type AddressAnnouncement = Static<typeof AddressAnnouncement>
