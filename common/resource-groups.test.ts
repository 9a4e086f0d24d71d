import { expect, test } from 'vitest'
import { flavorResources } from './flavor-resources.ts'
import { groupAmounts, resourceGroups, whyGroupsFail } from './resource-groups.ts'
import { requestedTraits } from './traits.ts'

type Texts = Readonly<Record<string, string>>

const flavor = { vcpus: 2, memoryMb: 512, rootGb: 10, ephemeralGb: 0, swapMb: 0 }

test('groups have the amounts and traits of their suffix', () => {
  const specs = {
    'resources2:VCPU': '1',
    'resources2:CUSTOM_GOLD': '0',
    'resources_NIC:CUSTOM_PCI_NIC': '2',
    'trait_NIC:HW_NIC': 'forbidden',
    'trait2:HW_FAST': 'required',
    'resources:VCPU': '7',
    'trait:OTHER': 'required',
    'resources3:VCPU': 'many',
    [`resources${'x'.repeat(65)}:VCPU`]: '1',
  }

  expect(resourceGroups(specs)).toEqual([
    { suffix: '2', amounts: { VCPU: 1 }, required: ['HW_FAST'], forbidden: [] },
    { suffix: '3', amounts: {}, required: [], forbidden: [] },
    { suffix: '_NIC', amounts: { CUSTOM_PCI_NIC: 2 }, required: [], forbidden: ['HW_NIC'] },
  ])
  expect(groupAmounts({ ...specs, 'resources4:VCPU': '2' })).toEqual({ VCPU: 3, CUSTOM_PCI_NIC: 2 })
})

test('groups add to what a flavor takes', () => {
  const specs = {
    'resources:MEMORY_MB': '100',
    'resources1:VCPU': '1',
    'resources1:MEMORY_MB': '28',
    'resources2:DISK_GB': '5',
    'pci_passthrough:alias': 'gpu:1',
    'resources3:CUSTOM_PCI_GPU': '2',
    'resources3:CUSTOM_PCI_NIC': '1',
  }

  expect(flavorResources({ ...flavor, extraSpecs: specs })).toEqual({
    ...{ vcpus: 3, memoryMb: 128, diskGb: 15 },
    custom: { CUSTOM_PCI_GPU: 3, CUSTOM_PCI_NIC: 1 },
  })
})

test('traits of groups are those of a host that gives what they take', () => {
  const specs = {
    'resources1:VCPU': '1',
    'trait1:HW_FAST': 'required',
    'trait1:HW_OLD': 'forbidden',
    'resources2:CUSTOM_PCI_NIC': '1',
    'trait2:HW_NIC': 'forbidden',
    'trait:HW_FAST': 'required',
  }

  expect(requestedTraits(specs, {})).toEqual({ required: ['HW_FAST'], forbidden: ['HW_OLD'] })
})

const port = { 'resources_P:CUSTOM_PCI_NIC': '1' }
const gpu = { 'resources_G:CUSTOM_PCI_GPU': '1' }
const cpu = { 'resources1:VCPU': '1' }

test.each<Texts>([
  {},
  { group_policy: 'isolate' },
  cpu,
  { ...cpu, 'trait1:HW_FAST': 'required' },
  { ...port, 'trait_P:HW_FAST': 'forbidden' },
  { ...cpu, ...port, ...gpu, group_policy: 'isolate' },
  { ...cpu, 'resources2:VCPU': '1', group_policy: 'none' },
])('a host may satisfy %j', (specs) => {
  expect(whyGroupsFail(specs)).toBeUndefined()
})

test.each<[Texts, string]>([
  [
    { ...cpu, ...port },
    'cannot know whether resources1: and resources_P: may be of one part of it: group_policy is not set',
  ],
  [
    { ...cpu, 'resources2:CUSTOM_GOLD': '1', ...gpu, group_policy: 'isolate' },
    'has resources1: and resources2: of one part only (the host), and group_policy is isolate',
  ],
  [
    { ...port, 'resources_Q:CUSTOM_PCI_NIC': '1', group_policy: 'isolate' },
    'has resources_P: and resources_Q: of one part only (CUSTOM_PCI_NIC), and group_policy is isolate',
  ],
  [{ 'trait1:HW_FAST': 'required' }, 'there is no resources1:'],
  [{ 'resources1:VCPU': '0', 'trait1:HW_FAST': 'required' }, 'there is no resources1:'],
  [
    { 'resources1:VCPU': '1', 'resources1:CUSTOM_PCI_NIC': '1' },
    'has no part with all of resources1: (the host, CUSTOM_PCI_NIC)',
  ],
  [{ ...port, 'trait_P:HW_FAST': 'required' }, 'has no traits of CUSTOM_PCI_NIC (trait_P:HW_FAST)'],
  [{ 'resources1:PCPU': '1' }, 'asked for by hw:cpu_policy'],
])('no host satisfies %j: it %s', (specs, reason) => {
  expect(whyGroupsFail(specs)).toContain(reason)
})
