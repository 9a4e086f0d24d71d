import { FIRST_GENERATION } from '#common/bus/site-generation.ts'
import type { ActiveSite, Site } from '../../db/sites.ts'

/** Whether the gateways of a site serve, and why not. */
export type Standing =
  | { readonly is: 'active'; readonly generation: number }
  | {
      readonly is: 'standby'
      readonly generation: number
      /** For users and operators: a sentence. */
      readonly reason: string
      /** Undefined where it is not known. */
      readonly active: { readonly name: string; readonly url: string } | undefined
    }

export const NOT_COPIED: Standing = {
  is: 'standby',
  generation: FIRST_GENERATION,
  reason: 'This site is on standby, and its database is not a copy of the active one yet.',
  active: undefined,
}

/**
 * What the database of a site says of its gateways. A site without a name is the only one of its deployment, and
 * active. Where another site was promoted, the database of the site before does not show it: then its gateways have
 * heard it, and recorded a successor.
 */
export function standingOf(
  own: string | undefined,
  recorded: ActiveSite | undefined,
  sites: readonly Site[],
): Standing {
  const generation = recorded?.generation ?? FIRST_GENERATION
  const successor = recorded?.successor
  if (successor !== undefined)
    return {
      is: 'standby',
      generation,
      reason: `Site ${successor.name} was promoted, and is active at ${successor.url}. This site has stepped down.`,
      active: { name: successor.name, url: successor.url },
    }
  if (own === undefined) return { is: 'active', generation }
  if (recorded === undefined) return NOT_COPIED
  if (recorded.name === own) return { is: 'active', generation }
  const active = sites.find(({ name }) => name === recorded.name)
  const where = active === undefined ? '' : ` at ${active.url}`
  return {
    is: 'standby',
    generation,
    reason: `This site is on standby. Site ${recorded.name} is active${where}.`,
    active,
  }
}
