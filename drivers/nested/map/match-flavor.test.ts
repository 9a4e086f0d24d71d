import { expect, test } from 'vitest'
import type { FlavorSpec } from '../../driver.ts'
import type { CloudFlavor } from './cloud-flavor.ts'
import { matchFlavor } from './match-flavor.ts'

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
])('matchFlavor() takes %s', (_what, candidates, id) => {
  expect(matchFlavor(OURS, candidates)?.id).toBe(id)
})
