import { capabilityOf } from '../capabilities.ts'
import type { Filter } from '../filter.ts'
import { matchesSpec } from '../match-spec.ts'

const SCOPE = 'capabilities:'

/** Holds the host to the flavor's extra specs `capabilities:NAME`, and to those without a scope, as Nova's filter of this name does. */
export const computeCapabilitiesFilter: Filter = {
  name: 'ComputeCapabilitiesFilter',
  refuse: (host, { extraSpecs }) => {
    if (host.hasOwnFlavors) return undefined
    for (const [key, wanted] of Object.entries(extraSpecs)) {
      const isScoped = key.startsWith(SCOPE)
      if (!isScoped && key.includes(':')) continue
      const name = isScoped ? key.slice(SCOPE.length) : key
      const value = capabilityOf(host, name)
      if (value === undefined) return `has no capability ${name}`
      if (!matchesSpec(String(value), wanted)) return `has ${name} ${value}, ${wanted} is needed`
    }
    return undefined
  },
}
