import { expect, test } from 'vitest'
import type { Cell } from '../../cell-client/cell.ts'
import { NO_RULES } from '../../db/placement-policies.ts'
import { CELL_POLICIES, type CellPolicy } from './cell-scores.ts'
import { chooseCell } from './choose-cell.ts'
import { REQUEST, sampleCell } from './testing.ts'

const AMOUNTS = { vcpus: 10, memoryMb: 10_000, diskGb: 100 }

const loaded = (name: string, vcpus: number, change: object = {}, more: Partial<Cell> = {}) =>
  sampleCell(
    name,
    { limits: AMOUNTS, used: { vcpus, memoryMb: 1_000, diskGb: 10 }, ...change },
    more,
  )

const first = (policy: CellPolicy, cells: readonly Cell[], random = () => 0.5) =>
  chooseCell(cells, REQUEST, { now: () => 0, ranking: { policy, random, prices: undefined } })
    .chosen?.name

test('filter takes the cell with the most free memory per host, simple the least loaded one', () => {
  const cells = [
    loaded('roomy', 8, { free: { vcpus: 2, memoryMb: 9_000, diskGb: 90 } }),
    loaded('idle', 2, { free: { vcpus: 8, memoryMb: 5_000, diskGb: 90 } }),
  ]

  expect(first('filter', cells)).toBe('roomy')
  expect(first('simple', cells)).toBe('idle')
})

test('simple counts what was assigned since the last heartbeat, and the busiest resource', () => {
  const reserved = { vcpus: 0, memoryMb: 5_000, diskGb: 0 }

  expect(first('simple', [loaded('a', 2, {}, { reserved }), loaded('b', 5)])).toBe('b')
  expect(first('simple', [loaded('a', 2, {}, { reserved }), loaded('b', 7)])).toBe('a')
  expect(first('simple', [sampleCell('silent'), loaded('b', 9)])).toBe('b')
})

test('chance takes any of them', () => {
  const numbers = [0.1, 0.9, 0.8, 0.2]
  const draw = () => numbers.shift()!
  const cells = [loaded('a', 9), loaded('b', 0)]

  expect([first('chance', cells, draw), first('chance', cells, draw)]).toEqual(['b', 'a'])
})

test('zone takes the zone with the fewest instances, and in it the least loaded cell', () => {
  const east = { zones: ['east'], instances: 3 }
  const cells = [
    loaded('a', 0, east),
    loaded('b', 9, { zones: ['west'], instances: 3 }),
    loaded('c', 8, { zones: ['west'], instances: 2 }),
  ]

  expect(first('zone', cells)).toBe('a')
  expect(first('zone', [loaded('a', 0, east, { reservedServers: 3 }), ...cells.slice(1)])).toBe('c')
})

test('each of them keeps a server near its group if it can', () => {
  const cells = [loaded('a', 9, { free: { vcpus: 1, memoryMb: 1, diskGb: 1 } }), loaded('b', 0)]
  const request = { ...REQUEST, group: { cellId: 'a', isBinding: false } }

  for (const policy of CELL_POLICIES) {
    const sources = { now: () => 0, ranking: { policy, random: () => 0, prices: undefined } }
    expect(chooseCell(cells, request, sources).chosen?.name).toBe('a')
  }
})

test('a cost weight lets the price of a server count as much as it says', () => {
  const cells = [
    loaded('own', 0, { free: { vcpus: 8, memoryMb: 2_000, diskGb: 90 } }),
    loaded('middle', 0, { free: { vcpus: 8, memoryMb: 6_000, diskGb: 90 } }),
    loaded('cloud', 0, { free: { vcpus: 8, memoryMb: 8_000, diskGb: 90 } }),
  ]
  const prices = {
    currency: 'EUR',
    cells: { own: { vcpu: 1 }, middle: { vcpu: 2 }, cloud: { vcpu: 5 } },
  }
  const chosen = (costWeight: number, known: typeof prices | null = prices) => {
    const rules = { ...NO_RULES, costWeight }
    const policy = {
      id: 'p',
      name: 'thrifty',
      rules,
      boundBy: 'default',
      projectId: 'demo',
    } as const
    const ranking = { policy: 'filter', random: () => 0, prices: known ?? undefined } as const
    return chooseCell(cells, { ...REQUEST, policy }, { now: () => 0, ranking })
  }

  expect(chosen(0).chosen?.name).toBe('cloud')
  expect(chosen(1).chosen?.name).toBe('middle')
  expect(chosen(1).trace.scores[0]?.parts).toEqual({ others: 2 / 3, cost: -0.25 })
  expect(chosen(100).chosen?.name).toBe('own')
  expect(chosen(100, null).chosen?.name).toBe('cloud')
})
