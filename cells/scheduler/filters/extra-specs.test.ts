import { expect, test } from 'vitest'
import type { HostState } from '../host-state.ts'
import { FILTER_SETTINGS, hostState, placementRequest } from '../testing.ts'
import { extraSpecsFilter } from './extra-specs.ts'

const refusal = (key: string, wanted: string, state: Partial<HostState> = {}) =>
  extraSpecsFilter.refuse(
    hostState('a', state),
    placementRequest({ extraSpecs: { 'hw:cpu_policy': 'shared', [key]: wanted } }),
    FILTER_SETTINGS,
  )

test('a host is refused where an extra spec about hardware has no effect, unless it asks for nothing', () => {
  const supports = (...extraSpecs: readonly string[]) => ({ extraSpecs })

  expect(refusal('hw:tpm_model', 'tpm-crb', supports('hw:cpu_policy'))).toBe(
    'does not support the extra spec hw:tpm_model',
  )
  for (const [key, value] of [
    ['quota:cpu_shares', '5'],
    ['accel:device_profile', 'mine'],
    ['os:secure_boot', 'required'],
  ] as const)
    expect(refusal(key, value, supports('hw:cpu_policy'))).toContain(key)
  expect(refusal('hw:tpm_model', 'tpm-crb', supports('hw:cpu_policy', 'hw:tpm_model'))).toBe(
    undefined,
  )
  expect(refusal('os:secure_boot', 'optional', supports())).toBeUndefined()
  expect(refusal('hw:boot_menu', 'False', supports())).toBeUndefined()
  expect(refusal('resources:VCPU', '1', supports())).toBeUndefined()
  expect(refusal('resources1:VCPU', '1', supports())).toBeUndefined()
  expect(refusal('group_policy', 'isolate', supports())).toBeUndefined()
  expect(refusal('aggregate_instance_extra_specs:hw:colour', 'blue', supports())).toBeUndefined()
  expect(refusal('trait_NIC:HW_NIC_SRIOV', 'required')).toContain('there is no resources_NIC:')
  expect(refusal('trait_NIC:X', 'required', { hasOwnFlavors: true })).toBeUndefined()
  expect(refusal('trait:COMPUTE_NODE', 'required', supports())).toBeUndefined()
  expect(refusal('hw:tpm_model', 'tpm-crb', { extraSpecs: null })).toBeUndefined()
})

test.each([
  ['hw:cpu_policy', ['shared'], 'dedicated'],
  ['hw:cpu_thread_policy', ['prefer'], 'isolate'],
  ['hw:mem_page_size', ['any', 'small'], 'large'],
  ['hw:pci_numa_affinity_policy', ['preferred'], 'legacy'],
  ['hw:pci_numa_affinity_policy', ['preferred'], 'required'],
  ['hw:watchdog_action', ['disabled'], 'reset'],
  ['os:secure_boot', ['disabled', 'optional'], 'required'],
])('%s asks for nothing with %j, and for something with %s', (key, undemanding, demanding) => {
  const state = { extraSpecs: [] }
  for (const value of undemanding) expect(refusal(key, value, state)).toBeUndefined()
  expect(refusal(key, demanding, state)).toBe(`does not support the extra spec ${key}`)
})

test.each([
  ['hw:pmu', 'false'],
  ['hw:serial_port_count', '0'],
  ['quota:cpu_shares', '0'],
  ['vmware:hw_version', 'vmx-21'],
  ['hide_hypervisor_id', 'true'],
])('%s=%s asks for something that a host must see to', (key, value) => {
  expect(refusal(key, value, { extraSpecs: [] })).toBe(`does not support the extra spec ${key}`)
})

test.each(['0', 'f', 'false', 'off', 'n', 'no', 'OFF'])('%s asks for nothing', (value) => {
  expect(refusal('hw:boot_menu', value, { extraSpecs: [] })).toBeUndefined()
})
