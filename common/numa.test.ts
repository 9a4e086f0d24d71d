import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nodesFor, numaParts, numaRequest, pageSizesToTry, pagesIn } from './numa.ts'

type Texts = Readonly<Record<string, string>>

const requestOf = (extraSpecs: Texts, image: Texts = {}, vcpus = 3) =>
  numaRequest({ vcpus, memoryMb: 100, extraSpecs }, image)

describe('what a flavor and an image ask for', () => {
  test.each<Texts>([
    {},
    { 'hw:mem_page_size': 'small' },
    { 'hw:mem_page_size': 'any' },
    { 'hw:mem_page_size': '4' },
    { 'hw:mem_page_size': 'huge' },
    { 'hw:cpu_policy': 'dedicated' },
    { 'hw:numa_nodes': '0' },
    { 'hw:numa_nodes': '4' },
    { 'hw:numa_nodes': '1.5' },
    { 'hw:numa_nodes': 'two' },
  ])('%j is no memory node', (extraSpecs) => {
    expect(requestOf(extraSpecs)).toBeNull()
  })

  test('is shared over the nodes, as evenly as it goes', () => {
    const parts = [
      { vcpus: [0], memoryMb: 50 },
      { vcpus: [1, 2], memoryMb: 50 },
    ]
    expect(requestOf({ 'hw:numa_nodes': '2' })).toEqual({ parts, isDedicated: false, page: null })
    expect(requestOf({}, { hw_numa_nodes: '2', hw_cpu_policy: 'dedicated' })).toEqual({
      parts,
      isDedicated: true,
      page: null,
    })
    expect(requestOf({ 'hw:numa_nodes': '3' }, { hw_numa_nodes: '1' })?.parts).toHaveLength(3)
  })

  test('is one node where large pages are asked for', () => {
    const all = [{ vcpus: [0, 1, 2], memoryMb: 100 }]
    for (const [text, page] of [
      ['large', 'large'],
      ['2MB', { kib: 2_048 }],
    ] as const)
      expect(requestOf({ 'hw:mem_page_size': text })).toEqual({
        parts: all,
        isDedicated: false,
        page,
      })
  })
})

test('the parts are all vCPUs and all memory, each once', () => {
  fc.assert(
    fc.property(
      fc.nat(64),
      fc.nat(100_000),
      fc.integer({ min: 1, max: 8 }),
      (more, memoryMb, nodes) => {
        const vcpus = nodes + more
        const parts = numaParts({ vcpus, memoryMb }, nodes)

        expect(parts.flatMap((part) => part.vcpus)).toEqual(
          Array.from({ length: vcpus }, (_, n) => n),
        )
        expect(parts.reduce((sum, part) => sum + part.memoryMb, 0)).toBe(memoryMb)
        const counts = parts.map((part) => part.vcpus.length)
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
      },
    ),
  )
})

describe('nodes for parts', () => {
  const found = (sizes: readonly number[], nodes: readonly number[]) =>
    nodesFor(
      sizes.map((size) => ({ vcpus: Array.from({ length: size }, (_, n) => n), memoryMb: 0 })),
      nodes,
      (node, { vcpus }) => vcpus.length <= node,
    )

  test('are the first that fit, no two the same', () => {
    expect(found([1, 1], [1, 2, 3])).toEqual([1, 2])
    expect(found([2], [1, 2, 3])).toEqual([2])
    expect(found([1, 1], [4])).toBeUndefined()
    expect(found([], [1])).toEqual([])
  })

  test('are found where the first fit of one part is the only one of another', () => {
    expect(found([1, 2], [2, 1])).toEqual([1, 2])
    expect(found([1, 2, 3], [3, 2, 1])).toEqual([1, 2, 3])
    expect(found([2, 2], [2, 1])).toBeUndefined()
  })

  test('are found exactly where sorted sizes fit one by one', () => {
    const amounts = fc.array(fc.nat(5), { maxLength: 6 })
    fc.assert(
      fc.property(amounts, amounts, (parts, nodes) => {
        const largest = (list: readonly number[]) => list.toSorted((a, b) => b - a)
        const fits = largest(parts).every((part, index) => part <= (largest(nodes)[index] ?? -1))
        expect(found(parts, nodes) !== undefined).toBe(fits)
      }),
    )
  })
})

test('page sizes are tried from the largest on, small ones never where large ones are asked for', () => {
  const sizes = [4, 2_048, 1_048_576, 2_048]
  expect(pageSizesToTry('large', sizes)).toEqual([1_048_576, 2_048])
  expect(pageSizesToTry({ kib: 64 }, sizes)).toEqual([64])
  for (const page of [null, 'small', 'any', { kib: 4 }] as const)
    expect(pageSizesToTry(page, sizes)).toEqual([undefined])
})

test('memory takes whole pages', () => {
  expect(pagesIn(4, 2_048)).toBe(2)
  expect(pagesIn(5, 2_048)).toBe(3)
})
