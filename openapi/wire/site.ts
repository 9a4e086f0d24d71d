import { type Static, Type } from 'typebox'

export const SiteName = Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,31}$' })
const Generation = Type.Integer({ minimum: 1 })

/** A site of a deployment: a control plane of its own, at the address of its gateways. */
export const SiteAddress = Type.Object({
  name: SiteName,
  url: Type.String({ pattern: '^https?://[!-~]{1,240}$' }),
})
export type SiteAddress = Static<typeof SiteAddress>

/** Which site is active, as its gateways tell cells. */
export const SiteAnnouncement = Type.Object({
  /** Grows with every promotion of a site. */
  generation: Generation,
  /** The name of the active site, which is among `sites`. */
  active: SiteName,
  sites: Type.Array(SiteAddress, { maxItems: 8 }),
  /** Sealed by a gateway: gateways of other sites believe no cell without it. */
  proof: Type.String({ pattern: '^[!-~]{1,1000}$' }),
})
export type SiteAnnouncement = Static<typeof SiteAnnouncement>

/** What a cell has heard, in its heartbeats. */
export const HeardSite = Type.Object({
  /** The highest of any request. */
  generation: Generation,
  /** The newest; absent: none yet. */
  announcement: Type.Optional(SiteAnnouncement),
})
export type HeardSite = Static<typeof HeardSite>
