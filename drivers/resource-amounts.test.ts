import { expect, test } from 'vitest'
import { resourceAmounts } from './resource-amounts.ts'

test('amounts are read by class, and an error names the setting and the invalid amount', () => {
  const read = resourceAmounts('resources', ['PCPU=8', 'VGPU=2', 'CUSTOM_HUGEPAGE_MB=65536'])

  expect(Object.fromEntries(read)).toEqual({ PCPU: 8, VGPU: 2, CUSTOM_HUGEPAGE_MB: 65_536 })
  for (const wrong of ['VCPU=8', 'PCPU', 'PCPU=-1', 'gold=2', 'PCPU=1000000000'])
    expect(() => resourceAmounts('resources', [wrong])).toThrow(`resources: ${wrong} is not like`)
})
