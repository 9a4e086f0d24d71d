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
  for (const key of ['aggregate_instance_extra_specs:colour', 'hw:tpm_model', 'group_policy'])
    expect(refusal(key, 'blue', { extraSpecs: [] })).toBeUndefined()
})

test('a nested cloud judges by its own flavors', () => {
  expect(refusal('capabilities:colour', 'blue', { hasOwnFlavors: true })).toBeUndefined()
})
