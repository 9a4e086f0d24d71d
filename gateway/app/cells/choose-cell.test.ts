import { expect, test } from 'vitest'
import type { Cell } from '../../cell-client/cell.ts'
import type { Network } from '../../db/network.ts'
import type { CellRequest } from './cell-filters.ts'
import { chooseCell } from './choose-cell.ts'
import { sampleCell as cell, REQUEST } from './testing.ts'

const NETWORK = { id: 'blue', name: 'blue', isEverywhere: true, cellIds: [] }
const SOURCES = {
  now: () => 1_000,
  ranking: { policy: 'filter', random: () => 0.5, prices: undefined },
} as const

test('chooseCell() prefers the cell with the most memory free per host', () => {
  const full = cell('full', { free: { vcpus: 8, memoryMb: 1_024, diskGb: 80 } })

  const { chosen, trace } = chooseCell([full, cell('empty')], REQUEST, SOURCES)

  expect(chosen?.name).toBe('empty')
  expect(trace.scores.map(({ candidate }) => candidate)).toEqual(['empty', 'full'])
  expect(trace).toMatchObject({ level: 'cells', considered: 2, chosen: 'empty' })
})

test('chooseCell() deducts servers assigned to a cell since its last summary', () => {
  const reserved = { vcpus: 4, memoryMb: 4_096, diskGb: 40 }

  const cells = [cell('busy', {}, { reserved }), cell('idle')]

  expect(chooseCell(cells, REQUEST, SOURCES).chosen?.name).toBe('idle')
})

test.each<[string, Cell, Partial<CellRequest>]>([
  ['RetryFilter', cell('a'), { tried: new Set(['a']) }],
  ['FittingFilter', cell('a'), { full: new Set(['a']) }],
  ['EnabledFilter', cell('a', {}, { isEnabled: false }), {}],
  ['AliveFilter', cell('a', {}, { isReachable: false }), {}],
  ['ComputeFilter', cell('a', { hostsUp: 0 }), {}],
  ['OptionalFilter', cell('a'), { hostFilters: ['SimpleCIDRAffinityFilter'] }],
  [
    'OptionalFilter',
    cell('a', { filtersLeftOut: ['SameHostFilter'] }),
    { hostFilters: ['SameHostFilter'] },
  ],
  ['TargetCellFilter', cell('a'), { cellHints: { targetCell: 'b' } }],
  ['DifferentCellFilter', cell('a'), { cellHints: { differentCells: ['b', 'a'] } }],
  ['SameHostFilter', cell('a'), { withServers: new Set(['b']) }],
  ['HostFilter', cell('a'), { requestedHost: 'h', withHost: new Set(['b']) }],
  ['AvailabilityZoneFilter', cell('a'), { zone: 'elsewhere' }],
  ['ImagePropertiesFilter', cell('a'), { image: { diskFormat: 'vmdk', properties: {} } }],
  [
    'ImagePropertiesFilter',
    cell('a'),
    { image: { diskFormat: 'qcow2', properties: { architecture: 'aarch64' } } },
  ],
  ['ImagePropertiesFilter', cell('a', { simulated: true, hypervisorTypes: ['fake'] }), {}],
  [
    'ImagePropertiesFilter',
    cell('a'),
    { image: { diskFormat: 'qcow2', properties: { hypervisor_type: 'fake' } } },
  ],
  ['ServerGroupAffinityFilter', cell('a'), { group: { cellId: 'b', isBinding: true } }],
  [
    'NetworkFilter',
    cell('a'),
    { networks: [{ ...NETWORK, isEverywhere: false } as unknown as Network] },
  ],
  [
    'TunnelFilter',
    cell('a', {}, { transportZone: 'east' }),
    { spans: { joined: new Set(['a', 'b']), networks: [{ ...NETWORK, cells: [cell('b')] }] } },
  ],
])('chooseCell() names %s when it leaves no cell', (filter, only, change) => {
  const { chosen, emptiedBy, trace } = chooseCell([only], { ...REQUEST, ...change }, SOURCES)

  expect(chosen).toBeUndefined()
  expect(emptiedBy).toBe(filter)
  expect(trace.filters.at(-1)).toMatchObject({ name: filter, refused: 1 })
  expect(trace.filters.at(-1)!.examples[0]!.candidate).toBe('a')
})

test('where no cell reported enough room, the cells themselves are asked, and the trace says so', () => {
  const resources = { vcpus: 5, memoryMb: 512, diskGb: 5 }
  const { chosen, trace } = chooseCell([cell('a')], { ...REQUEST, resources }, SOURCES)

  expect(chosen?.name).toBe('a')
  expect(trace.filters.at(-1)).toMatchObject({ name: 'CapacityFilter', refused: 1 })
})

test('a cell whose hosts have all the servers of a group that they may have is asked last', () => {
  const apart = { members: new Map([['a', 4]]), maxPerHost: 2 }
  const full = cell('a', { hostsUp: 2, free: { vcpus: 80, memoryMb: 80_000, diskGb: 800 } })
  const other = cell('b', { hostsUp: 2 })
  const choose = (...cells: Cell[]) => chooseCell(cells, { ...REQUEST, apart }, SOURCES)

  expect(choose(full, other).chosen?.name).toBe('b')
  const { chosen, trace } = choose(full)
  expect(chosen?.name).toBe('a')
  expect(trace.filters.find(({ refused }) => refused > 0)).toEqual({
    name: 'ServerGroupAntiAffinityFilter',
    refused: 1,
    examples: [
      {
        candidate: 'a',
        reason: 'has 4 servers of the group, which its 2 hosts may have 2 of each',
      },
    ],
  })
})

test('a simulated cell takes an image that is marked as made for it', () => {
  const simulated = cell('sim', { simulated: true, hypervisorTypes: ['fake'] })
  const image = { diskFormat: 'qcow2', properties: { hypervisor_type: 'fake' } }

  const { chosen } = chooseCell([simulated, cell('real')], { ...REQUEST, image }, SOURCES)

  expect(chosen?.name).toBe('sim')
})

test.each([
  ['KVM', { hypervisor_type: 'qemu' }],
  ['KVM', { img_hv_type: 'kvm', hypervisor_type: 'xen' }],
  ['QEMU', { architecture: 'amd64' }],
])('a cell of %s hosts takes an image with %j', (type, properties) => {
  const image = { diskFormat: 'qcow2', properties }
  const only = cell('a', { hypervisorTypes: [type] })

  expect(chooseCell([only], { ...REQUEST, image }, SOURCES).chosen?.name).toBe('a')
})

test('where the only cell of a zone is unreachable, the reachability filter removes the last one', () => {
  const away = cell('away', { zones: ['far'] }, { isReachable: false })
  const { emptiedBy, trace } = chooseCell(
    [away, cell('near')],
    { ...REQUEST, zone: 'far' },
    SOURCES,
  )

  expect(emptiedBy).toBe('AliveFilter')
  expect(trace.filters.at(-1)!.examples).toMatchObject([{ candidate: 'away' }])
})
