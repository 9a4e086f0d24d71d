import { whyGroupsFail } from '#common/resource-groups.ts'
import { asksForNothing } from '#common/undemanding-specs.ts'
import { capabilityOf } from '../capabilities.ts'
import type { HostFilter } from '../filter.ts'
import type { HostState } from '../host-state.ts'
import { matchesSpec } from '../match-spec.ts'

const SCOPE = 'capabilities:'
/** Extra specs about the hardware of guests, which a host heeds or does not know. */
const HARDWARE =
  /^(?:(?:accel|hw|hw_rng|hw_video|os|pci_passthrough|quota|vmware):|hide_hypervisor_id$)/
/** It has no scope, and is no capability. */
const GROUP_POLICY = 'group_policy'

/**
 * Holds the host to the flavor's extra specs `capabilities:NAME` and to those without a scope, as Nova's filter of this
 * name does. Refuses hosts, too, on whose guests an extra spec about hardware would have no effect, and which could not
 * satisfy its groups of resources.
 */
export const computeCapabilitiesFilter: HostFilter = {
  name: 'ComputeCapabilitiesFilter',
  concerns: ({ extraSpecs }) => Object.keys(extraSpecs).length > 0,
  refuse: (host, { extraSpecs }) => {
    if (host.hasOwnFlavors) return undefined
    for (const [key, wanted] of Object.entries(extraSpecs)) {
      if (key === GROUP_POLICY) continue
      const reason = HARDWARE.test(key)
        ? whyUnsupported(host, key, wanted)
        : whyDifferent(host, key, wanted)
      if (reason !== undefined) return reason
    }
    return whyGroupsFail(extraSpecs)
  },
}

function whyUnsupported(host: HostState, key: string, wanted: string): string | undefined {
  if (host.extraSpecs === null || host.extraSpecs.includes(key)) return undefined
  return asksForNothing(key, wanted) ? undefined : `does not support the extra spec ${key}`
}

function whyDifferent(host: HostState, key: string, wanted: string): string | undefined {
  const isScoped = key.startsWith(SCOPE)
  if (!isScoped && key.includes(':')) return undefined
  const name = isScoped ? key.slice(SCOPE.length) : key
  const value = capabilityOf(host, name)
  if (value === undefined) return `has no capability ${name}`
  return matchesSpec(String(value), wanted)
    ? undefined
    : `has ${name} ${value}, ${wanted} is needed`
}
