import { expect, test } from 'vitest'
import type { Cell } from '../../cell-client/cell.ts'
import type { Taint } from '../../db/cell-mappings.ts'
import { NO_RULES, type PlacementRules, type Spread } from '../../db/placement-policies.ts'
import { spreadState } from '../placement-policies/spread.ts'
import type { CellRequest } from './cell-filters.ts'
import { chooseCell } from './choose-cell.ts'
import { REQUEST, sampleCell } from './testing.ts'

const SOURCES = {
  now: () => 1_000,
  ranking: { policy: 'filter', random: () => 0.5, prices: undefined },
} as const
const DEDICATED: Taint = { key: 'dedicated', value: 'research', effect: 'NoSchedule' }

const under = (rules: Partial<PlacementRules>, change: Partial<CellRequest> = {}): CellRequest => ({
  ...REQUEST,
  ...change,
  policy: {
    id: 'p',
    name: 'gold',
    boundBy: 'project',
    projectId: 'demo',
    rules: { ...NO_RULES, ...rules },
  },
})

const choose = (cells: readonly Cell[], request: CellRequest) => chooseCell(cells, request, SOURCES)

const tainted = (name: string, taint: Taint = DEDICATED) =>
  sampleCell(name, {}, { taints: [taint] })

test('a tainted cell gets no server without a policy, and the trace names the taint', () => {
  const { chosen, emptiedBy, trace } = choose([tainted('a')], REQUEST)

  expect(chosen).toBeUndefined()
  expect(emptiedBy).toBe('TaintTolerationFilter')
  expect(trace.policy).toBeUndefined()
  expect(trace.filters.at(-1)?.examples).toEqual([
    {
      candidate: 'a',
      reason: 'has the taint dedicated=research:NoSchedule, which no placement policy tolerates',
    },
  ])
})

test.each([
  [true, { key: 'dedicated', value: 'research', effect: 'NoSchedule' }],
  [true, { key: 'dedicated', value: 'research', effect: null }],
  [true, { key: 'dedicated', value: null, effect: null }],
  [false, { key: 'dedicated', value: 'teaching', effect: null }],
  [false, { key: 'dedicated', value: null, effect: 'PreferNoSchedule' }],
  [false, { key: 'gpu', value: null, effect: null }],
] as const)('it is %s that %j tolerates dedicated=research:NoSchedule', (is, toleration) => {
  const { chosen, trace } = choose([tainted('a')], under({ tolerations: [toleration] }))

  expect(chosen !== undefined).toBe(is)
  expect(trace.policy).toEqual({ name: 'gold', boundBy: 'project' })
})

test('a cell with PreferNoSchedule gets a server only when no other can take it', () => {
  const avoided = tainted('avoided', { ...DEDICATED, effect: 'PreferNoSchedule' })
  const full = sampleCell('full', { largest: { vcpus: 0, memoryMb: 0, diskGb: 0 } })
  const small = sampleCell('small', { free: { vcpus: 1, memoryMb: 512, diskGb: 5 } })

  const { chosen, trace } = choose([avoided, small], REQUEST)
  expect(chosen?.name).toBe('small')
  expect(trace.filters.at(-1)).toEqual({
    name: 'PreferNoScheduleFilter',
    refused: 1,
    examples: [
      {
        candidate: 'avoided',
        reason: 'has the taint dedicated=research:PreferNoSchedule, and others can take the server',
      },
    ],
  })
  expect(choose([avoided, full], REQUEST).chosen?.name).toBe('avoided')
  const tolerating = under({ tolerations: [{ key: 'dedicated', value: null, effect: null }] })
  expect(choose([avoided, small], tolerating).chosen?.name).toBe('avoided')
})

test('a server goes where its backup is, if its policy and all filters let it', () => {
  const small = sampleCell('small', { free: { vcpus: 1, memoryMb: 512, diskGb: 5 } })
  const large = sampleCell('large')
  const replicated = { ...REQUEST, replicaCellId: 'small' }

  expect(choose([small, large], REQUEST).chosen?.name).toBe('large')
  const { chosen, trace } = choose([small, large], replicated)
  expect(chosen?.name).toBe('small')
  expect(trace.filters.at(-1)).toEqual({
    name: 'ReplicaFilter',
    refused: 1,
    examples: [
      {
        candidate: 'large',
        reason: 'has no backup of the server; cell small has, and can take it',
      },
    ],
  })
  expect(choose([{ ...small, isEnabled: false }, large], replicated).chosen?.name).toBe('large')
  const elsewhere = under({
    preference: [
      { cells: ['large'], labels: {} },
      { cells: [], labels: {} },
    ],
  })
  expect(choose([small, large], { ...elsewhere, replicaCellId: 'small' }).chosen?.name).toBe(
    'large',
  )
})

const BURST = {
  preference: [
    { cells: [], labels: { site: 'berlin' } },
    { cells: ['cloud'], labels: {} },
  ],
}
const FULL = { largest: { vcpus: 0, memoryMb: 0, diskGb: 0 } }
const berlin = (name: string, change = {}) =>
  sampleCell(name, change, { labels: { site: 'berlin' } })

test('cells of a later entry are used only when those of an earlier one can take nothing', () => {
  const small = berlin('small', { free: { vcpus: 1, memoryMb: 512, diskGb: 5 } })
  const cells = [small, sampleCell('cloud')]

  const { chosen, trace } = choose(cells, under(BURST))
  expect(chosen?.name).toBe('small')
  expect(trace.filters.at(-1)).toEqual({
    name: 'OverflowFilter',
    refused: 1,
    examples: [
      {
        candidate: 'cloud',
        reason:
          'is in entry 2 of the preference of policy gold, and a cell of entry 1 can take the server',
      },
    ],
  })
  expect(choose([berlin('small', FULL), cells[1]!], under(BURST)).chosen?.name).toBe('cloud')
  expect(choose(cells, under(BURST, { tried: new Set(['small']) })).chosen?.name).toBe('cloud')
  expect(choose(cells, REQUEST).chosen?.name).toBe('cloud')
})

test('a cell of no entry is refused, unless the last entry selects every cell', () => {
  const other = sampleCell('other')
  const { emptiedBy, trace } = choose([other], under(BURST))

  expect(emptiedBy).toBe('PreferenceFilter')
  expect(trace.filters.at(-1)?.examples[0]?.reason).toBe(
    'is in no entry of the preference of policy gold',
  )
  const open = { preference: [...BURST.preference, { cells: [], labels: {} }] }
  expect(choose([other], under(open)).chosen?.name).toBe('other')
})

test('an entry with names and labels selects the cells that have both', () => {
  const preference = [{ cells: ['a', 'b'], labels: { site: 'berlin' } }]
  const cells = [berlin('c'), sampleCell('a'), berlin('b')]

  expect(choose(cells, under({ preference })).chosen?.name).toBe('b')
})

const HAVING = (counts: Readonly<Record<string, number>>) =>
  new Map(
    Object.entries(counts).map(([id, servers]) => [id, { servers, vcpus: servers, memoryMb: 1 }]),
  )

const spreading = (
  spread: Spread,
  cells: readonly Cell[],
  counts: Readonly<Record<string, number>>,
) => under({ spread }, { spread: spreadState(spread, cells, HAVING(counts)) })

test.each([
  [{ a: 0, b: 0 }, 'a'],
  [{ a: 1, b: 0 }, 'b'],
  [{ a: 1, b: 1 }, 'a'],
  [{ a: 3, b: 1 }, 'b'],
])('of cells with %j servers, a required spread with a skew of 1 leaves %s', (counts, expected) => {
  const small = sampleCell('b', { free: { vcpus: 1, memoryMb: 512, diskGb: 5 } })
  const cells = [sampleCell('a'), small]
  const request = spreading({ over: 'cell', maxSkew: 1, isRequired: true }, cells, counts)

  expect(choose(cells, request).chosen?.name).toBe(expected)
})

test('a required spread places nothing rather than unevenly, one that is not prefers even cells', () => {
  const cells = [sampleCell('a'), sampleCell('b', {}, { isReachable: false })]
  const rule = { over: 'cell', maxSkew: 2 } as const

  const { emptiedBy, trace } = choose(
    cells,
    spreading({ ...rule, isRequired: true }, cells, { a: 2, b: 0 }),
  )
  expect(emptiedBy).toBe('SpreadFilter')
  expect(trace.filters.at(-1)?.examples[0]?.reason).toBe(
    'cell a has 2 servers of the project and another cell 0; they may differ by 2',
  )
  const soft = (reachable: readonly Cell[]) =>
    choose(reachable, spreading({ ...rule, isRequired: false }, cells, { a: 2, b: 0 }))
  expect(soft(cells).chosen?.name).toBe('a')
  const both = [cells[0]!, sampleCell('b', { free: { vcpus: 1, memoryMb: 512, diskGb: 5 } })]
  expect(soft(both).chosen?.name).toBe('b')
})

test('a spread over zones counts the servers of all cells of a zone', () => {
  const zones = (name: string, ...names: string[]) => sampleCell(name, { zones: names })
  const cells = [zones('a', 'east'), zones('b', 'east'), zones('c', 'west', 'mid')]
  const rule = { over: 'zone', maxSkew: 1, isRequired: true } as const
  const leaves = (counts: Readonly<Record<string, number>>) =>
    choose(cells, spreading(rule, cells, counts)).trace.scores.map(({ candidate }) => candidate)

  expect(leaves({ a: 1, b: 1, c: 1 })).toEqual(['c'])
  expect(leaves({ a: 1, b: 1, c: 3 })).toEqual(['a', 'b'])
})

test.each([
  [{ servers: 3, vcpus: null, memoryMb: null }, true],
  [{ servers: 2, vcpus: null, memoryMb: null }, '2 servers'],
  [{ servers: null, vcpus: 3, memoryMb: null }, true],
  [{ servers: null, vcpus: 2, memoryMb: null }, '2 VCPU'],
  [{ servers: null, vcpus: null, memoryMb: 1_536 }, true],
  [{ servers: 9, vcpus: 9, memoryMb: 1_535 }, '1535 MiB of memory'],
])('with two servers in the cell and limits of %j, another one: %s', (limits, expected) => {
  const use = new Map([['a', { servers: 2, vcpus: 2, memoryMb: 1_024 }]])
  const { chosen, emptiedBy, trace } = choose([sampleCell('a')], under({ limits }, { use }))

  expect(emptiedBy).toBe(expected === true ? undefined : 'LimitFilter')
  expect(chosen?.name).toBe(expected === true ? 'a' : undefined)
  const refused = trace.filters.flatMap(({ examples }) => examples.map(({ reason }) => reason))
  const reason = `policy gold allows the project ${String(expected)} there, no more`
  expect(refused).toEqual(expected === true ? [] : [reason])
})
