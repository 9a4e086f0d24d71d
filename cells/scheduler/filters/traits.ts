import { whyTraitsDiffer } from '#common/traits.ts'
import type { KindFilter } from '../filter.ts'

/** Does what Nova leaves to Placement: required and forbidden traits of the flavor, and required ones of the image. */
export const traitsFilter: KindFilter = {
  name: 'TraitsFilter',
  concerns: ({ traits: { required, forbidden } }) => required.length + forbidden.length > 0,
  by: 'kind',
  runsOnRebuild: true,
  refuse: ({ traits, machineTraits, hasOwnFlavors }, request) => {
    if (hasOwnFlavors) return undefined
    if (machineTraits === null) return whyTraitsDiffer(request.traits, traits)
    const reasons = machineTraits.map((each) => whyTraitsDiffer(request.traits, each))
    return reasons.includes(undefined) || reasons.length === 0
      ? undefined
      : `has no machine that suits: one ${reasons[0]!}`
  },
}
