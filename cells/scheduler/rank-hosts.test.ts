import { expect, test } from 'vitest'
import { HostTable } from './host-table.ts'
import { rankHosts } from './rank-hosts.ts'
import { hostState, placementRequest, WEIGHER_SETTINGS } from './testing.ts'
import { columnOf } from './weigher.ts'

/** The hosts at the first `count` places, ranked by how few instances they have. */
function ranked(table: HostTable, count: number) {
  const weigher = {
    name: 'instances',
    column: (hosts: HostTable) => columnOf(hosts, ({ instances }) => 5 - instances),
  }
  const found = rankHosts(table, count, placementRequest(), {
    weighers: [{ weigher, weight: 2 }],
    weigherSettings: WEIGHER_SETTINGS,
  })
  return found.map(({ host, score, parts }) => [host.name, score, parts])
}

function tableOf(...instances: readonly number[]): HostTable {
  const table = new HostTable(
    instances.map((number) => hostState(`h${number}`, { instances: number })),
  )
  table.workspace.left.set([...instances.keys()])
  return table
}

test('scores are shares of the widest difference times the weight, with six digits', () => {
  expect(ranked(tableOf(0, 1, 3), 3)).toEqual([
    ['h0', 2, { instances: 2 }],
    ['h1', 1.333333, { instances: 1.333333 }],
    ['h3', 0, { instances: 0 }],
  ])
})

test('hosts that are left out and former decisions over the same table change no score', () => {
  const table = tableOf(0, 1, 3)
  const expected = [
    ['h0', 2, { instances: 2 }],
    ['h1', 0, { instances: 0 }],
  ]

  expect(ranked(table, 2)).toEqual(expected)
  expect(ranked(table, 2)).toEqual(expected)
})
