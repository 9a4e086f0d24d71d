import { expect, test } from 'vitest'
import type { HostState } from '../host-state.ts'
import { FILTER_SETTINGS, hostState, placementRequest } from '../testing.ts'
import { computeCapabilitiesFilter } from './compute-capabilities.ts'

const refusal = (key: string, wanted: string, state: Partial<HostState> = {}) =>
  computeCapabilitiesFilter.refuse(
    hostState('a', state),
    placementRequest({ extraSpecs: { 'hw:cpu_policy': 'shared', [key]: wanted } }),
    FILTER_SETTINGS,
  )

test.each([
  ['capabilities:hypervisor_type', 'QEMU', 'KVM'],
  ['capabilities:hypervisor_type', 's== QEMU', 's!= QEMU'],
  ['capabilities:hypervisor_version', '>= 7002000', '>= 7002001'],
  ['capabilities:hypervisor_hostname', 'a', 'b'],
  ['capabilities:host', '<or> a <or> b', '<or> c <or> b'],
  ['capabilities:vcpus_total', '<= 16', '<= 15'],
  ['capabilities:vcpus_used', '== 0', '== 1'],
  ['capabilities:free_ram_mb', '>= 1024', '>= 1025'],
  ['capabilities:total_usable_ram_mb', '== 1024', '== 1025'],
  ['capabilities:free_disk_mb', '>= 102400', '>= 102401'],
  ['capabilities:total_usable_disk_gb', '== 100', '== 101'],
  ['capabilities:num_instances', '<= 0', '!= 0'],
  ['capabilities:cpu_info:arch', 'x86_64', 'aarch64'],
  ['capabilities:cpu_info:vendor', 'Intel', 'AMD'],
  ['capabilities:cpu_info:model', 'Skylake', 'Haswell'],
  ['capabilities:cpu_info:features', '<all-in> aes avx2', '<all-in> aes mmx'],
  ['capabilities:cpu_info:topology:sockets', '== 1', '== 2'],
  ['capabilities:cpu_info:topology:cores', '>= 8', '>= 9'],
  ['capabilities:cpu_info:topology:threads', '2', '1'],
  ['hypervisor_type', 'QEMU', 'KVM'],
])('%s holds for %s and not for %s', (key, right, wrong) => {
  expect(refusal(key, right)).toBeUndefined()
  expect(refusal(key, wrong)).toContain(`${wrong} is needed`)
})

test('free amounts are without those in use', () => {
  const used = { used: { vcpus: 2, memoryMb: 24, diskGb: 10 } }

  expect(refusal('capabilities:vcpus_used', '== 2', used)).toBeUndefined()
  expect(refusal('capabilities:free_ram_mb', '== 1000', used)).toBeUndefined()
  expect(refusal('capabilities:free_disk_mb', '== 92160', used)).toBeUndefined()
})

test('a name that no host has is refused, and specs of other scopes are of other filters', () => {
  expect(refusal('capabilities:colour', 'blue')).toBe('has no capability colour')
  expect(refusal('colour', 'blue')).toBe('has no capability colour')
  expect(refusal('capabilities:constructor', 'x')).toBe('has no capability constructor')
  expect(refusal('aggregate_instance_extra_specs:colour', 'blue')).toBeUndefined()
  expect(
    refusal('aggregate_instance_extra_specs:hw:colour', 'blue', { extraSpecs: [] }),
  ).toBeUndefined()
})

test('a nested cloud judges by its own flavors', () => {
  expect(refusal('capabilities:colour', 'blue', { hasOwnFlavors: true })).toBeUndefined()
})

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
