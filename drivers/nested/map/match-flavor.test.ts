import { expect, test } from 'vitest'
import type { FlavorSpec } from '../../driver.ts'
import type { CloudFlavor } from './cloud-flavor.ts'
import { matchFlavor, namedFlavor } from './match-flavor.ts'

const OURS: FlavorSpec = {
  id: 'ours',
  name: 'small',
  vcpus: 1,
  memoryMb: 512,
  rootGb: 5,
  ephemeralGb: 0,
  swapMb: 0,
  extraSpecs: {},
}
const flavor = (id: string, name: string, change: Partial<CloudFlavor> = {}): CloudFlavor => {
  return { id, name, vcpus: 1, ram: 512, disk: 5, swap: '', ...change }
}

test.each([
  ['the same id', [flavor('a', 'small'), flavor('ours', 'x')], 'ours'],
  ['the same name', [flavor('a', 'x'), flavor('b', 'small')], 'b'],
  ['the first of its size', [flavor('c', 'x'), flavor('b', 'y')], 'b'],
  ['none of another size', [flavor('ours', 'small', { ram: 1024 })], undefined],
  ['none with a swap disk', [flavor('ours', 'small', { swap: 64 })], undefined],
  [
    'none with a device',
    [flavor('b', 'small', { extra_specs: { 'pci_passthrough:alias': 'gpu:1' } })],
    undefined,
  ],
  [
    'one that only says where it may be',
    [flavor('b', 'x', { extra_specs: { 'aggregate_instance_extra_specs:ssd': 'true' } })],
    'b',
  ],
])('matchFlavor() takes %s', (_what, candidates, id) => {
  expect(matchFlavor(OURS, candidates)?.id).toBe(id)
})

test('matchFlavor() takes the hardware that is asked for, and no flavor without it', () => {
  const specs = { 'hw:cpu_policy': 'dedicated' }
  const ours = { ...OURS, extraSpecs: specs }
  const plain = flavor('a', 'small')

  expect(matchFlavor(ours, [plain])).toBeUndefined()
  expect(matchFlavor(ours, [plain, flavor('b', 'x', { extra_specs: specs })])?.id).toBe('b')
})

test.each([
  { 'resources1:VGPU': '1' },
  { 'resources_NIC:SRIOV_NET_VF': '1', 'trait_NIC:HW_NIC': 'required' },
  { group_policy: 'isolate' },
  { 'vmware:hw_version': 'vmx-21' },
  { hide_hypervisor_id: 'true' },
])('matchFlavor() takes no flavor without the same %j', (specs) => {
  const theirs = flavor('a', 'small', { extra_specs: specs })

  expect(matchFlavor({ ...OURS, extraSpecs: specs }, [flavor('b', 'x'), theirs])?.id).toBe('a')
  expect(matchFlavor(OURS, [theirs])).toBeUndefined()
})

test('matchFlavor() takes the extra specs without a scope that are asked for, whatever others there are', () => {
  const ours = { ...OURS, extraSpecs: { tier: 'gold' } }
  const theirs = (extra_specs: Record<string, string>) => [flavor('a', 'small', { extra_specs })]

  expect(matchFlavor(ours, theirs({ tier: 'gold', category: 'general' }))?.id).toBe('a')
  expect(matchFlavor(ours, theirs({ tier: 'silver' }))).toBeUndefined()
  expect(matchFlavor(ours, theirs({}))).toBeUndefined()
  expect(matchFlavor(OURS, theirs({ tier: 'gold' }))?.id).toBe('a')
})

test('a flavor is named by its id or its name, and one that is not there is refused with those that are', () => {
  const there = [flavor('1', 'small'), flavor('2', 'large')]

  expect([namedFlavor('2', there).id, namedFlavor('small', there).id]).toEqual(['2', '1'])
  expect(() => namedFlavor('huge', there)).toThrow('no flavor huge. It has: small, large')
})
