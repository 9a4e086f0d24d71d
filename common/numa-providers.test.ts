import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { divide, type NumaHost, nodeClass, nodeShares, readNodeClass } from './numa-providers.ts'

const node = (id: number, cpus: number, memoryMb: number, dedicatedCpus = 0) => ({
  ...{ id, cpus, memoryMb, dedicatedCpus },
  pages: {},
})
const host = (change: Partial<NumaHost>): NumaHost => ({
  ...{ vcpus: 8, memoryMb: 1_000, hasNumaProviders: true },
  ...change,
})

describe('what nodes have of their host', () => {
  test('is nothing where they are no providers', () => {
    const numa = [node(0, 4, 500)]
    expect(nodeShares({ vcpus: 4, memoryMb: 500, numa })).toEqual([])
    expect(nodeShares(host({}))).toEqual([])
    expect(nodeShares(host({ numa, machines: [] }))).toEqual([])
  })

  test('is what the host offers, by their sizes', () => {
    const shares = nodeShares(host({ numa: [node(0, 6, 3_000, 2), node(3, 2, 1_000, 1)] }))

    expect(shares.map(({ id }) => id)).toEqual([0, 3])
    expect(shares.map(({ shared }) => shared.VCPU.total)).toEqual([6, 2])
    expect(shares.map(({ shared }) => shared.MEMORY_MB.total)).toEqual([750, 250])
    expect(shares.map(({ exact }) => exact)).toEqual([{ PCPU: 2 }, { PCPU: 1 }])
  })

  test('is memory in large pages of each size', () => {
    const pages = { 2048: 10, 1048576: 1 }
    expect(nodeShares(host({ numa: [{ ...node(0, 1, 1), pages }] }))[0]?.exact).toEqual({
      ...{ PCPU: 0, CUSTOM_HUGEPAGE_MB: 20 + 1_024 },
      ...{ CUSTOM_HUGEPAGE_2048K_MB: 20, CUSTOM_HUGEPAGE_1048576K_MB: 1_024 },
    })
  })

  test('is all that the host has and keeps, and no node keeps more than it has', () => {
    const amount = fc.integer({ min: 0, max: 5_000 })
    const sizes = fc.array(fc.tuple(fc.integer({ min: 0, max: 64 }), amount), {
      minLength: 1,
      maxLength: 8,
    })
    fc.assert(
      fc.property(sizes, amount, amount, amount, (of, vcpus, memoryMb, kept) => {
        const numa = of.map(([cpus, memory], id) => node(id, cpus, memory))
        const reserved = { vcpus: kept, memoryMb: kept }
        const shares = nodeShares(host({ numa, vcpus, memoryMb, reserved }))
        for (const [name, total] of [
          ['VCPU', vcpus],
          ['MEMORY_MB', memoryMb],
        ] as const) {
          const each = shares.map(({ shared }) => shared[name])
          expect(each.reduce((sum, one) => sum + one.total, 0)).toBe(total)
          expect(each.reduce((sum, one) => sum + one.reserved, 0)).toBe(Math.min(kept, total))
          for (const one of each) expect(one.reserved).toBeLessThanOrEqual(one.total)
        }
      }),
    )
  })
})

test('an amount is divided by weights, evenly where all are 0', () => {
  expect(divide(10, [1, 1, 2])).toEqual([2, 3, 5])
  expect(divide(3, [0, 0])).toEqual([1, 2])
  expect(divide(3, [0, 5])).toEqual([0, 3])
})

test('the name of a class of a node tells both', () => {
  expect(readNodeClass(nodeClass(12, 'MEMORY_MB'))).toEqual({
    node: 12,
    resourceClass: 'MEMORY_MB',
  })
  for (const name of ['VCPU', 'NUMA_SOCKET', 'NUMA_MEMORY_MB', 'CUSTOM_NUMA_0_VCPU'])
    expect(readNodeClass(name)).toBeUndefined()
})
