import { expect, test } from 'vitest'
import { flavorResources } from './flavor-resources.ts'

const flavor = { vcpus: 2, memoryMb: 512, rootGb: 10, ephemeralGb: 5, swapMb: 1_500 }

test.each([
  [{}, { vcpus: 2, memoryMb: 512, diskGb: 17 }],
  [
    { 'resources:VCPU': '3', 'hw:cpu_policy': 'shared' },
    { vcpus: 3, memoryMb: 512, diskGb: 17 },
  ],
  [
    { 'resources:VCPU': 'many', 'resources:': '1' },
    { vcpus: 2, memoryMb: 512, diskGb: 17 },
  ],
  [
    {
      'resources:CUSTOM_GOLD': '1',
      'resources:CUSTOM_SILVER': '0',
      'resources:VCPU': '0',
      'resources:MEMORY_MB': '0',
      'resources:DISK_GB': '0',
    },
    { vcpus: 0, memoryMb: 0, diskGb: 0, custom: { CUSTOM_GOLD: 1 } },
  ],
  [
    { 'hw:cpu_policy': 'dedicated', 'hw:mem_page_size': 'large', 'pci_passthrough:alias': 'gpu:2' },
    {
      ...{ vcpus: 0, memoryMb: 512, diskGb: 17 },
      custom: { PCPU: 2, CUSTOM_HUGEPAGE_MB: 512, CUSTOM_PCI_GPU: 2 },
    },
  ],
  [
    { 'hw:mem_page_size': '1GB', 'pci_passthrough:alias': 'my-nic,gpu:1,my-nic:2' },
    {
      ...{ vcpus: 2, memoryMb: 512, diskGb: 17 },
      custom: {
        CUSTOM_HUGEPAGE_MB: 1024,
        CUSTOM_HUGEPAGE_1048576K_MB: 1024,
        CUSTOM_PCI_GPU: 1,
        CUSTOM_PCI_MY_NIC: 3,
      },
    },
  ],
  [
    { 'resources:VGPU': '1', 'resources:PCPU': '2', 'resources:NUMA_CORE': '0' },
    { vcpus: 0, memoryMb: 512, diskGb: 17, custom: { PCPU: 2, VGPU: 1 } },
  ],
  [
    { 'hw:mem_page_size': 'huge', 'pci_passthrough:alias': 'gpu:', 'hw:cpu_policy': 'shared' },
    { vcpus: 2, memoryMb: 512, diskGb: 17 },
  ],
])('flavorResources() with extra specs %j is %j', (extraSpecs, resources) => {
  expect(flavorResources({ ...flavor, extraSpecs })).toEqual(resources)
})

test('properties of an image count where the flavor has none', () => {
  const image = { hw_cpu_policy: 'dedicated', hw_mem_page_size: '2MB' }
  const custom = (extraSpecs: Readonly<Record<string, string>>) =>
    flavorResources({ ...flavor, extraSpecs }, image).custom

  expect(custom({})).toEqual({ PCPU: 2 })
  expect(custom({ 'hw:cpu_policy': 'shared', 'hw:mem_page_size': 'any' })).toEqual({
    CUSTOM_HUGEPAGE_MB: 512,
    CUSTOM_HUGEPAGE_2048K_MB: 512,
  })
})
