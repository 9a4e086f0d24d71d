import { expect, test } from 'vitest'
import { simpleCidrAffinityFilter } from '#cells/scheduler/filters/cidr-affinity.ts'
import { jsonFilter } from '#cells/scheduler/filters/json-query.ts'
import { differentHostFilter, sameHostFilter } from '#cells/scheduler/filters/neighbour.ts'
import { affinityFilter, antiAffinityFilter } from '#cells/scheduler/filters/server-group.ts'
import type { HostState } from '#cells/scheduler/host-state.ts'
import type { PlacementRequest } from '#cells/scheduler/placement-request.ts'
import { FILTER_SETTINGS, hostState, placementRequest } from '#cells/scheduler/testing.ts'
import { CELL_FILTERS } from '#gateway/app/cells/cell-filters.ts'
import { filtersOfHints, refuseUnheededHints } from '#gateway/app/servers/boot/hints.ts'
import { passedHints } from '#gateway/app/servers/edit/server-remarks.ts'

// Goal: no scheduler hint that Nova publishes is accepted without effect. Each one excludes some hosts or cells, and one that depends
// on a filter which no cell runs is refused. Others are taken as in Nova, where an operator's own filters read them: those of a cloud
// below may, and the gateway cannot know.

/** nova/api/openstack/compute/schemas/servers.py, `_hints`. */
const PUBLISHED = [
  'group',
  'different_host',
  'same_host',
  'query',
  'target_cell',
  'different_cell',
  'build_near_host_ip',
  'cidr',
] as const

const HOST = hostState('a', { address: '192.0.2.7' })
const OTHER = hostState('b', { address: '198.51.100.7', hypervisorType: 'KVM' })

type Refusing = (host: HostState) => string | undefined

const by = (filter: typeof jsonFilter, asked: Partial<PlacementRequest>): Refusing => {
  return (host) => filter.refuse(host, placementRequest(asked), FILTER_SETTINGS)
}
const group = (policy: 'affinity' | 'anti-affinity') => ({
  group: { id: 'g', policy, maxPerHost: 1, members: new Map([[HOST.hostId, 1]]) } as never,
})
const inCell = (name: keyof typeof CELL_FILTERS, cellHints: object): Refusing => {
  return (host) => CELL_FILTERS[name]!({ name: host.name } as never, { cellHints } as never)
}

/** Of each hint, what excludes one of the two hosts, or of the two cells called like them. */
const EXCLUDING: Readonly<Record<(typeof PUBLISHED)[number], readonly Refusing[]>> = {
  group: [
    by(affinityFilter as typeof jsonFilter, group('affinity')),
    by(antiAffinityFilter as typeof jsonFilter, group('anti-affinity')),
  ],
  different_host: [by(differentHostFilter, { differentHosts: new Set([HOST.hostId]) })],
  same_host: [by(sameHostFilter, { sameHosts: new Set([HOST.hostId]) })],
  query: [by(jsonFilter, { hints: { query: ['["=", "$hypervisor_type", "KVM"]'] } })],
  target_cell: [inCell('TargetCellFilter', { targetCell: 'a' })],
  different_cell: [inCell('DifferentCellFilter', { differentCells: ['a'] })],
  build_near_host_ip: [
    by(simpleCidrAffinityFilter, { hints: { build_near_host_ip: ['192.0.2.9'] } }),
  ],
  cidr: [
    by(simpleCidrAffinityFilter, { hints: { build_near_host_ip: ['192.0.2.5'], cidr: ['/30'] } }),
  ],
}

test.each(PUBLISHED)('the hint %s excludes a place, and not every place', (hint) => {
  for (const refuse of EXCLUDING[hint]) {
    const refusals = [HOST, OTHER].map(refuse)
    expect(refusals.filter((reason) => reason !== undefined)).toHaveLength(1)
  }
})

test.each(PUBLISHED)('the hint %s is refused where no cell heeds it, and only there', (hint) => {
  const hints = { [hint]: 'x', ...(hint === 'cidr' && { build_near_host_ip: 'x' }) }
  const cell = (optionalFilters: readonly string[]) => [{ summary: { optionalFilters } as never }]
  const isOptional = ['query', 'build_near_host_ip', 'cidr'].includes(hint)

  const refused = expect(() => refuseUnheededHints(hints, cell([])))
  if (isOptional) refused.toThrow(/^Scheduler hint '\w+' is not supported: no cell runs the /)
  else refused.not.toThrow()
  const all = cell(['JsonFilter', 'SimpleCIDRAffinityFilter'])
  expect(() => refuseUnheededHints(hints, all)).not.toThrow()
})

test.each([
  ['same_host', 'SameHostFilter'],
  ['different_host', 'DifferentHostFilter'],
])('the hint %s is refused where every cell leaves out the %s, and only there', (hint, filter) => {
  const cell = (...filtersLeftOut: string[]) => ({ summary: { filtersLeftOut } as never })
  const refusing = (value: unknown, ...cells: ReturnType<typeof cell>[]) =>
    expect(() => refuseUnheededHints({ [hint]: value }, cells))

  refusing(['x'], cell(filter)).toThrow(`no cell runs the ${filter}`)
  refusing(['x'], cell(filter), cell()).not.toThrow()
  // It has no effect anywhere.
  refusing([], cell(filter)).not.toThrow()
  refusing(['x']).not.toThrow()
})

test('hints that Nova does not publish go on to a cell, whose cloud may have filters of its own', () => {
  const hints = { rack: 7, near: ['a', 'b'], same_host: 'x', policy: 'y', _nova_check_type: ['z'] }

  expect(() => refuseUnheededHints(hints, [])).not.toThrow()
  expect(passedHints(hints)).toEqual({ rack: ['7'], near: ['a', 'b'] })
})

test('a server that has a query from before it was refused may go to any cell, and where some heed it, to those alone', () => {
  const cell = (...optionalFilters: string[]) => ({ summary: { optionalFilters } as never })
  const query = { query: ['["=", "$host", "a"]'] }

  expect(filtersOfHints(query, [cell()])).toEqual([])
  expect(filtersOfHints(query, [cell(), cell('JsonFilter')])).toEqual(['JsonFilter'])
  const near = filtersOfHints({ build_near_host_ip: ['192.0.2.1'] }, [cell()])
  expect(near).toEqual(['SimpleCIDRAffinityFilter'])
})
