/** Scopes of extra specs that choose hosts, and those that speak of the hardware of guests. */

export const AGGREGATES = 'aggregate_instance_extra_specs:'
export const CAPABILITIES = 'capabilities:'
const HARDWARE =
  /^(?:(?:accel|hw|hw_rng|hw_video|os|pci_passthrough|quota|vmware):|hide_hypervisor_id$)/
/** It has no scope, and is no capability. */
const GROUP_POLICY = 'group_policy'

/** True for what an aggregate of the host must have as its metadata. */
export function isOfAggregates(key: string): boolean {
  return key.startsWith(AGGREGATES)
}

/** True for what guests are to have, which a host heeds or does not know. */
export function isOfHardware(key: string): boolean {
  return HARDWARE.test(key)
}

/** True for what the host itself must have: `capabilities:NAME`, or an extra spec without a scope. */
export function isCapability(key: string): boolean {
  if (key.startsWith(CAPABILITIES)) return true
  return !key.includes(':') && key !== GROUP_POLICY && !isOfHardware(key)
}
