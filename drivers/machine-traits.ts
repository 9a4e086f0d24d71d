import { Failure } from '#common/errors.ts'
import { requestedTraits, whyTraitsDiffer } from '#common/traits.ts'
import type { InstanceSpec } from './driver.ts'

type Traits = readonly string[]

/** Those that every machine has: what a host of machines promises whichever one a server gets. */
export function commonTraits(machines: readonly Traits[]): Traits {
  const [first = [], ...rest] = machines
  return first.filter((trait) => rest.every((traits) => traits.includes(trait))).toSorted()
}

/** Each combination of traits that some machine has, once. */
export function distinctTraits(machines: readonly Traits[]): readonly Traits[] {
  const texts = machines.map((traits) => JSON.stringify(traits.toSorted()))
  return [...new Set(texts)].toSorted().map((text) => JSON.parse(text) as Traits)
}

/** Throws `no-capacity` for a machine without a trait that the server requires, or with one that it forbids. */
export function refuseTraits(
  { flavor, image }: Pick<InstanceSpec, 'flavor' | 'image'>,
  machine: string,
  traits: Traits,
): void {
  const reason = whyTraitsDiffer(requestedTraits(flavor.extraSpecs, image.properties), traits)
  if (reason !== undefined) throw new Failure('no-capacity', `Machine ${machine} ${reason}.`)
}
