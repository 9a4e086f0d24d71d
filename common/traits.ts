import { groupTraits } from './resource-groups.ts'

type Properties = Readonly<Record<string, string>>

/** The traits that a server's host or machine must have, and those that it must not have. */
export interface RequestedTraits {
  readonly required: readonly string[]
  readonly forbidden: readonly string[]
}

const PREFIX = 'trait:'

/** What extra specs and image properties `trait:NAME`, and groups such as `trait1:NAME`, ask for; an image can only require (nova: "Flavors", required traits). */
export function requestedTraits(extraSpecs: Properties, image: Properties): RequestedTraits {
  const named = (properties: Properties, value: string) =>
    Object.entries(properties).flatMap(([key, text]) =>
      key.startsWith(PREFIX) && text === value ? [key.slice(PREFIX.length)] : [],
    )
  const groups = groupTraits(extraSpecs)
  const required = [
    ...named(extraSpecs, 'required'),
    ...named(image, 'required'),
    ...groups.required,
  ]
  const forbidden = [...named(extraSpecs, 'forbidden'), ...groups.forbidden]
  return {
    required: [...new Set(required)].toSorted(),
    forbidden: [...new Set(forbidden)].toSorted(),
  }
}

/** Why a host or machine with these traits does not suit, as the end of a sentence about it; undefined: it does. */
export function whyTraitsDiffer(
  { required, forbidden }: RequestedTraits,
  traits: readonly string[],
): string | undefined {
  const missing = required.find((trait) => !traits.includes(trait))
  if (missing !== undefined) return `lacks the trait ${missing}`
  const unwanted = forbidden.find((trait) => traits.includes(trait))
  return unwanted === undefined ? undefined : `has the trait ${unwanted}, which is forbidden`
}
