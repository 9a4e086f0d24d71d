import { expect, test } from 'vitest'
import type { Filter } from './filter.ts'
import { HostTable } from './host-table.ts'
import { judgeHosts } from './judge-hosts.ts'
import { FILTER_SETTINGS, hostState, placementRequest, WEIGHER_SETTINGS } from './testing.ts'

const NAMES = ['a', 'b', 'c', 'd', 'e'] as const
const hosts = (names: readonly string[] = NAMES) =>
  new HostTable(names.map((name) => hostState(name)))
const judged = (filters: readonly Filter[], table = hosts()) =>
  judgeHosts(table, placementRequest(), {
    filters,
    filterSettings: FILTER_SETTINGS,
    weighers: [],
    weigherSettings: WEIGHER_SETTINGS,
  })

/** A filter that refuses every host, and the names of those it was asked about. */
function refusing(change: Partial<Filter> = {}) {
  const asked: string[] = []
  const filter = {
    name: 'Refusing',
    refuse: ({ name }: { name: string }) => {
      asked.push(name)
      return `is ${name}`
    },
    ...change,
  } as Filter
  return { asked, filter }
}

test('a filter is asked about no host once none is left', () => {
  const [first, second] = [refusing(), refusing({ name: 'Second', by: 'kind' })]

  const { fitting, filters } = judged([first.filter, second.filter])

  expect(fitting).toBe(0)
  expect(second.asked).toEqual([])
  expect(filters[1]).toEqual({ name: 'Second', refused: 0, examples: [] })
})

test('a filter is asked about no host for a request with which it has nothing to do', () => {
  const { asked, filter } = refusing({ concerns: () => false })

  expect(judged([filter])).toMatchObject({ fitting: NAMES.length, filters: [{ refused: 0 }] })
  expect(asked).toEqual([])
  expect(judged([{ ...filter, concerns: () => true }])).toMatchObject({ fitting: 0 })
})

test('a filter of kinds is asked once for each kind, whatever else differs between its hosts', () => {
  const { asked, filter } = refusing({ by: 'kind' })
  const zones = new HostTable([
    ...['a', 'b', 'c', 'd'].map((name) => hostState(name)),
    hostState('e', { zone: 'east' }),
  ])

  // Once more for each host whose refusal is shown.
  expect(judged([filter], zones).fitting).toBe(0)
  expect(asked).toEqual(['a', 'e', 'a', 'b', 'c'])
})

test.each([
  ['each host', {}],
  ['kinds of hosts', { by: 'kind' }],
  ['room', { by: 'room', room: 'vcpus', needed: () => 17 }],
] as const)('a filter that looks at %s names the first three that it refuses', (_, change) => {
  const { filter } = refusing(change as Partial<Filter>)

  const [found] = judged([filter]).filters

  expect(found?.refused).toBe(NAMES.length)
  expect(found?.examples).toEqual([
    { candidate: 'a', reason: 'is a' },
    { candidate: 'b', reason: 'is b' },
    { candidate: 'c', reason: 'is c' },
  ])
})

test('of several errors of a filter the first is kept, and each refusal says its own', () => {
  const broken: Filter = {
    name: 'Broken',
    refuse: ({ name }) => {
      throw new Error(`no ${name}`)
    },
  }

  const { fitting, filters, errors } = judged([broken], hosts(['a', 'b']))

  expect(fitting).toBe(0)
  expect([...errors]).toEqual([['Broken', new Error('no a')]])
  expect(filters[0]?.examples.map(({ reason }) => reason)).toEqual([
    'could not be judged: Broken failed with "no a"',
    'could not be judged: Broken failed with "no b"',
  ])
})
