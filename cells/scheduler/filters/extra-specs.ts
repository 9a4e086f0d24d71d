import { isOfHardware } from '#common/extra-spec-scopes.ts'
import { whyGroupsFail } from '#common/resource-groups.ts'
import { asksForNothing } from '#common/undemanding-specs.ts'
import type { KindFilter } from '../filter.ts'
import type { HostKind } from '../host-state.ts'

/**
 * Refuses hosts on whose guests an extra spec about hardware would have no effect, and which could not satisfy the flavor's
 * groups of resources.
 */
export const extraSpecsFilter: KindFilter = {
  name: 'ExtraSpecsFilter',
  concerns: ({ extraSpecs }) => Object.keys(extraSpecs).length > 0,
  by: 'kind',
  refuse: (host, { extraSpecs }) => {
    if (host.hasOwnFlavors) return undefined
    for (const [key, wanted] of Object.entries(extraSpecs)) {
      const reason = isOfHardware(key) ? whyUnsupported(host, key, wanted) : undefined
      if (reason !== undefined) return reason
    }
    return whyGroupsFail(extraSpecs)
  },
}

function whyUnsupported(host: HostKind, key: string, wanted: string): string | undefined {
  if (host.extraSpecs === null || host.extraSpecs.includes(key)) return undefined
  return asksForNothing(key, wanted) ? undefined : `does not support the extra spec ${key}`
}
