import { expect, test } from 'vitest'
import { limitsOf, ratiosOf } from './ratios.ts'
import { addResources, amountsOf, combineResources, resourcesOf } from './resources.ts'

const flavor = {
  id: 'f',
  name: 'f',
  vcpus: 2,
  memoryMb: 512,
  rootGb: 10,
  ephemeralGb: 0,
  swapMb: 0,
  extraSpecs: {},
} as unknown as Parameters<typeof resourcesOf>[0]['flavor']
type InstanceVolume = NonNullable<Parameters<typeof resourcesOf>[0]['volumes']>[number]

test('a limit is the total times its ratio, rounded down; custom classes are never overcommitted', () => {
  const ratios = { vcpus: 1.5, memoryMb: 2, diskGb: 0.5 }

  expect(limitsOf({ vcpus: 3, memoryMb: 100, diskGb: 9 }, ratios)).toEqual({
    vcpus: 4,
    memoryMb: 200,
    diskGb: 4,
  })
  expect(
    limitsOf({ vcpus: 1, memoryMb: 1, diskGb: 2, custom: { CUSTOM_GOLD: 3 } }, ratios).custom,
  ).toEqual({ CUSTOM_GOLD: 3 })
})

test('a flavor without root disk takes the disk that its image asks for', () => {
  const image = { minDiskGb: 7, properties: {} }

  expect(resourcesOf({ flavor, image })).toEqual({ vcpus: 2, memoryMb: 512, diskGb: 10 })
  expect(resourcesOf({ flavor: { ...flavor, rootGb: 0 }, image }).diskGb).toBe(7)
})

test('a server that starts from a volume takes no root disk of its host', () => {
  const image = { minDiskGb: 7, properties: {} }
  const volume = { volumeId: 'v' } as unknown as InstanceVolume
  const diskGb = (volumes: readonly InstanceVolume[], rootGb = 10) =>
    resourcesOf({ flavor: { ...flavor, rootGb }, image, volumes: [...volumes] }).diskGb

  expect(diskGb([volume, { ...volume, isRoot: true }])).toBe(0)
  expect(diskGb([{ ...volume, isRoot: true }], 0)).toBe(0)
  expect(diskGb([volume])).toBe(10)
})

test('amounts are combined class by class, and a class that one side lacks is 0 there', () => {
  const a = { vcpus: 1, memoryMb: 2, diskGb: 3, custom: { CUSTOM_GOLD: 4 } }
  const b = { vcpus: 10, memoryMb: 20, diskGb: 30, custom: { CUSTOM_GOLD: 40, CUSTOM_TIN: 5 } }
  const plain = { vcpus: 1, memoryMb: 1, diskGb: 1 }
  const sum = { vcpus: 11, memoryMb: 22, diskGb: 33, custom: { CUSTOM_GOLD: 44, CUSTOM_TIN: 5 } }

  expect(addResources(a, b)).toEqual(sum)
  expect(addResources(b, a)).toEqual(sum)
  expect(addResources(plain, a).custom).toEqual({ CUSTOM_GOLD: 4 })
  expect(addResources(a, plain).custom).toEqual({ CUSTOM_GOLD: 4 })
  expect(addResources(plain, plain)).toEqual({ vcpus: 2, memoryMb: 2, diskGb: 2 })
  expect(combineResources(b, a, (x, y) => x - y)).toEqual({
    vcpus: 9,
    memoryMb: 18,
    diskGb: 27,
    custom: { CUSTOM_GOLD: 36, CUSTOM_TIN: 5 },
  })
})

test('amounts by class are those of the host, without what its NUMA nodes count besides', () => {
  const custom = { PCPU: 2, CUSTOM_GOLD: 0, NUMA_1_PCPU: 2, NUMA_SOCKET: 1 }

  expect(amountsOf({ vcpus: 0, memoryMb: 64, diskGb: 1, custom })).toEqual({
    ...{ MEMORY_MB: 64, DISK_GB: 1, PCPU: 2, NUMA_SOCKET: 1 },
  })
})

test('quotas and whole machines are never promised twice', () => {
  const ratios = { vcpus: 16, memoryMb: 1.5, diskGb: 1 }
  const exact = { vcpus: 1, memoryMb: 1, diskGb: 1 }
  expect(ratiosOf({ inventory: null, aggregates: [] }, ratios)).toEqual(ratios)
  expect(ratiosOf({ inventory: {}, aggregates: [] }, ratios)).toEqual(ratios)
  expect(ratiosOf({ inventory: { isQuota: true }, aggregates: [] }, ratios)).toEqual(exact)
  expect(ratiosOf({ inventory: { machines: [] }, aggregates: [] }, ratios)).toEqual(exact)
})
