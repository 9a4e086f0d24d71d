import { expect, test } from 'vitest'
import type { CellId } from '#common/ids.ts'
import type { StoreSummary } from '#openapi/wire/cell-volume.ts'
import type { CellSummary } from '#openapi/wire/feed.ts'
import type { Cell } from '../../cell-client/cell.ts'
import {
  chooseVolumeCell,
  type VolumeCellRequest,
  whyNoRoom,
  whyNoRoomForAll,
} from './choose-cell.ts'

const AT = 1
const REQUEST: VolumeCellRequest = {
  sizeGb: 4,
  zone: null,
  specs: {},
  encryption: null,
  only: null,
  tried: [],
}

function store(change: Partial<StoreSummary> = {}): StoreSummary {
  return {
    id: 'store',
    name: 'fast',
    engine: 'dir',
    zones: ['nova'],
    totalGb: 10,
    freeGb: 10,
    promisedGb: 0,
    multiattach: false,
    isUp: true,
    ...change,
  }
}

function cell(name: string, stores: readonly StoreSummary[], change: Partial<Cell> = {}): Cell {
  const summary = { stores } as unknown as CellSummary
  return {
    id: name as CellId,
    name,
    isEnabled: true,
    isReachable: true,
    weight: 1,
    summary,
    ...change,
  } as Cell
}

test('the cell whose stores have the most room is asked first, even where none has enough', () => {
  const cells = [
    cell('a', [store({ promisedGb: 5 })]),
    cell('b', [store({ promisedGb: 9 }), store({ promisedGb: 2 })]),
  ]

  expect(chooseVolumeCell(cells, REQUEST, AT).chosen?.name).toBe('b')
  expect(chooseVolumeCell(cells, { ...REQUEST, sizeGb: 100 }, AT).chosen?.name).toBe('b')
})

test.each<[string, Cell, Partial<VolumeCellRequest>]>([
  ['does not have its source', cell('a', [store()]), { only: 'b' as CellId }],
  ['refused it before', cell('a', [store()]), { tried: ['a' as CellId] }],
  ['is disabled', cell('a', [store()], { isEnabled: false }), {}],
  ['sends no heartbeats', cell('a', [store()], { isReachable: false }), {}],
  ['has no store', cell('a', []), {}],
  ['has no store in zone mars', cell('a', [store()]), { zone: 'mars' }],
  ['has no store that its hints allow', cell('a', [store()]), { stores: { amongStores: ['b'] } }],
  [
    'has no store that its hints allow',
    cell('a', [store()]),
    { stores: { notInStores: ['store'] } },
  ],
  ['has no store that its type allows', cell('a', [store({ isUp: false })]), {}],
  [
    'has no store that its type allows',
    cell('a', [store()]),
    { specs: { volume_backend_name: 'gold' } },
  ],
  [
    'has no store that its type allows',
    cell('a', [store()]),
    { specs: { multiattach: '<is> True' } },
  ],
  ['has no store that encrypts volumes', cell('a', [store()]), { encryption: { keyBits: 256 } }],
])('a cell that %s is not asked', (reason, only, change) => {
  const { trace, ...choice } = chooseVolumeCell([only], { ...REQUEST, ...change }, AT)

  expect(choice).toEqual({ chosen: undefined, reason: `cell a ${reason}` })
  expect(trace).toMatchObject({ considered: 1, scores: [], chosen: null })
  const refusing = trace.filters.filter(({ refused }) => refused > 0)
  expect(refusing.map(({ examples }) => examples)).toEqual([[{ candidate: 'a', reason }]])
})

test('the trace has the filters in their order, and the cells that are left with their scores', () => {
  const cells = [
    cell('a', [store({ promisedGb: 5 })], { weight: 3 }),
    cell('b', [store()]),
    cell('c', []),
  ]

  const { trace } = chooseVolumeCell(cells, REQUEST, AT)

  expect(trace).toMatchObject({ at: AT, level: 'cells', considered: 3, chosen: 'a' })
  expect(trace.filters.map(({ name, refused }) => `${name} ${refused}`)).toEqual([
    'SourceFilter 0',
    'RetryFilter 0',
    'EnabledFilter 0',
    'ReachableFilter 0',
    'StoreFilter 1',
    'AvailabilityZoneFilter 0',
    'AffinityFilter 0',
    'CapabilitiesFilter 0',
    'EncryptionFilter 0',
  ])
  expect(trace.scores).toEqual([
    { candidate: 'a', score: 15, parts: { roomGb: 5, weight: 3 } },
    { candidate: 'b', score: 10, parts: { roomGb: 10, weight: 1 } },
  ])
})

test('a cell has room if a store that the type allows has, or does not say', () => {
  const full = store({ name: 'full', roomGb: 3 })
  const other = store({ name: 'other', roomGb: 9, isUp: false })

  expect(whyNoRoom(cell('a', [full, other]), REQUEST)).toBe(
    'has no store with room for 4 GiB: full has room for 3',
  )
  expect(whyNoRoom(cell('a', [full, store({ roomGb: 4 })]), REQUEST)).toBeUndefined()
  expect(whyNoRoom(cell('a', [full, store()]), REQUEST)).toBeUndefined()
})

test('a cell has room for several volumes if its stores have room for them together', () => {
  const stores = [store({ id: 'a', roomGb: 8 }), store({ id: 'b', name: 'slow', roomGb: 5 })]
  const both = cell('a', stores)
  const sizes = (...all: readonly number[]) => all.map((sizeGb) => ({ ...REQUEST, sizeGb }))

  expect(whyNoRoomForAll(both, [])).toBeUndefined()
  expect(whyNoRoomForAll(both, sizes(4, 8))).toBeUndefined()
  expect(whyNoRoomForAll(both, sizes(5, 8))).toBeUndefined()
  expect(whyNoRoomForAll(both, sizes(6, 8))).toBe(
    'has no room for 2 volumes with 14 GiB in its stores',
  )
  expect(whyNoRoomForAll(both, sizes(9))).toBe(whyNoRoom(both, { ...REQUEST, sizeGb: 9 }))
  expect(whyNoRoomForAll(cell('a', [store()]), sizes(9, 9))).toBeUndefined()
  const specs = { volume_backend_name: 'slow' }
  expect(whyNoRoomForAll(both, [...sizes(8), { ...REQUEST, specs, sizeGb: 5 }])).toBeUndefined()
  expect(whyNoRoomForAll(cell('a', stores.slice(0, 1)), [{ ...REQUEST, specs }])).toBe(
    'has no store that its type allows',
  )
  expect(whyNoRoomForAll(cell('a', [], {}), sizes(1))).toBe('has no store')
})
