import { expect, test } from 'vitest'
import { HostTable } from './host-table.ts'
import { rankHosts } from './rank-hosts.ts'
import { hostState, placementRequest, WEIGHER_SETTINGS } from './testing.ts'
import { columnOf } from './weigher.ts'

test('scores are shares of the widest difference times the weight, with six digits', () => {
  const table = new HostTable(
    [0, 1, 3].map((instances) => hostState(`h${instances}`, { instances })),
  )
  const weigher = {
    name: 'instances',
    column: (hosts: HostTable) => columnOf(hosts, ({ instances }) => 5 - instances),
  }
  table.workspace.left.set([0, 1, 2])

  const ranked = rankHosts(table, 3, placementRequest(), {
    weighers: [{ weigher, weight: 2 }],
    weigherSettings: WEIGHER_SETTINGS,
  })

  expect(ranked.map(({ host, score, parts }) => [host.name, score, parts])).toEqual([
    ['h0', 2, { instances: 2 }],
    ['h1', 1.333333, { instances: 1.333333 }],
    ['h3', 0, { instances: 0 }],
  ])
})
