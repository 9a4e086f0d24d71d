import { type Static, Type } from 'typebox'
import { Uuid } from './scalars.ts'

/** Asked by a compute of its cell: to keep the password that a guest published, encrypted with its owner's key. */
export const GuestPassword = Type.Object({
  hostId: Uuid,
  serverId: Uuid,
  attempt: Type.Integer({ minimum: 1 }),
  password: Type.String({ maxLength: 1_020 }),
  /** How often it had been cleared when the guest published it. */
  clears: Type.Integer({ minimum: 0 }),
})
export type GuestPassword = Static<typeof GuestPassword>
