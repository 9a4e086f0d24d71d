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
])('flavorResources() with extra specs %j is %j', (extraSpecs, resources) => {
  expect(flavorResources({ ...flavor, extraSpecs })).toEqual(resources)
})
