import type { Secrets } from '#common/secrets.ts'
import type { HeardSite, SiteAnnouncement } from '#openapi/wire/site.ts'
import type { Site, Successor } from '../../db/sites.ts'

const PURPOSE = 'promotion of a site'

/** What gateways of an active site tell cells, and other sites that ask. */
export function announcementOf(
  secrets: Secrets,
  { name, generation }: { readonly name: string; readonly generation: number },
  sites: readonly Site[],
): SiteAnnouncement | undefined {
  const own = sites.find((each) => each.name === name)
  if (own === undefined) return undefined
  const promoted: Successor = { name, url: own.url, generation }
  return {
    generation,
    active: name,
    sites: sites.map((each) => ({ name: each.name, url: each.url })),
    proof: secrets.seal(JSON.stringify(promoted), PURPOSE),
  }
}

/**
 * The promotion that an announcement proves; undefined for one that was not sealed by a gateway of this deployment. A cell
 * could otherwise make every gateway step down.
 */
export function provenPromotion(
  secrets: Secrets,
  announcement: SiteAnnouncement | undefined,
): Successor | undefined {
  if (announcement === undefined) return undefined
  try {
    return JSON.parse(secrets.open(announcement.proof, PURPOSE)) as Successor
  } catch {
    return undefined
  }
}

/** True where the cell knows what the announcement says. Each gateway makes a proof of its own. */
export function isKnown(announcement: SiteAnnouncement, heard: HeardSite | undefined): boolean {
  const known = heard?.announcement
  if (known === undefined || known.generation !== announcement.generation) return false
  const text = ({ active, sites }: SiteAnnouncement) => JSON.stringify([active, sites])
  return text(known) === text(announcement)
}
