import { CAPABILITIES, isCapability } from '#common/extra-spec-scopes.ts'
import { capabilityOf } from '../capabilities.ts'
import type { HostFilter } from '../filter.ts'
import type { HostState } from '../host-state.ts'
import { matchesSpec } from '../match-spec.ts'

/** Holds the host to the flavor's extra specs `capabilities:NAME` and to those without a scope, as in Nova. */
export const computeCapabilitiesFilter: HostFilter = {
  name: 'ComputeCapabilitiesFilter',
  concerns: ({ extraSpecs }) => Object.keys(extraSpecs).some(isCapability),
  runs: 'usual',
  refuse: (host, { extraSpecs }) => {
    if (host.hasOwnFlavors) return undefined
    for (const [key, wanted] of Object.entries(extraSpecs)) {
      const reason = isCapability(key) ? whyDifferent(host, key, wanted) : undefined
      if (reason !== undefined) return reason
    }
    return undefined
  },
}

function whyDifferent(host: HostState, key: string, wanted: string): string | undefined {
  const name = key.startsWith(CAPABILITIES) ? key.slice(CAPABILITIES.length) : key
  const value = capabilityOf(host, name)
  if (value === undefined) return `has no capability ${name}`
  return matchesSpec(String(value), wanted)
    ? undefined
    : `has ${name} ${value}, ${wanted} is needed`
}
