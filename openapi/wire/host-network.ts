import { type Static, Type } from 'typebox'

/** What joins a host to the networks of its cell, as the cell's network engine knows it. */
export const HostNetwork = Type.Object({
  /** The address at which its tunnels end. */
  encapAddress: Type.String({ minLength: 2, maxLength: 45 }),
  /** Networks of the site, each with a bridge on the host. */
  physicalNetworks: Type.Array(Type.String()),
})
export type HostNetwork = Static<typeof HostNetwork>
