import { expect, test } from 'vitest'
import type { HostId } from '#common/ids.ts'
import { chooseStore, type StoreRequest, type StoreState } from './choose-store.ts'
import { GIB } from './store.ts'

const REQUEST: StoreRequest = {
  projectId: 'demo',
  sizeGb: 4,
  zone: null,
  specs: {},
  sourceStoreId: null,
}

function store(name: string, change: Partial<StoreState> = {}): StoreState {
  return {
    id: name,
    name,
    engine: 'fake',
    totalBytes: 10 * GIB,
    freeBytes: 10 * GIB,
    isShared: true,
    multiattach: false,
    unknownObjects: 0,
    promisedGb: 0,
    hostIds: [],
    hosts: [{ id: `host of ${name}` as HostId, name: `at ${name}`, zone: 'nova', isUp: true }],
    ...change,
  }
}

test('the store with the most room comes first, and every store that fits is a place', () => {
  const stores = [
    store('small', { promisedGb: 5 }),
    store('large'),
    store('full', { promisedGb: 8 }),
  ]

  const { places, refusals } = chooseStore(stores, REQUEST, 1)

  expect(places.map(({ storeName }) => storeName)).toEqual(['large', 'small'])
  expect(refusals).toEqual(['full: it can promise 2 GiB more (CapacityFilter)'])
  const near = chooseStore(stores, { ...REQUEST, host: 'at small' }, 1).places
  expect(near.map(({ storeName }) => storeName)).toEqual(['small', 'large'])
  const { considered, scores } = chooseStore(stores, { ...REQUEST, host: 'at small' }, 1)
  expect([considered, scores]).toEqual([
    3,
    [
      { candidate: 'small', score: 5, parts: { onHostOfServer: 1, roomGb: 5 } },
      { candidate: 'large', score: 10, parts: { onHostOfServer: 0, roomGb: 10 } },
    ],
  ])
})

test.each<[string, Partial<StoreState>, Partial<StoreRequest>]>([
  ['no host that reaches it is in the zone mars (AvailabilityZoneFilter)', {}, { zone: 'mars' }],
  ['it does not have the source (SourceFilter)', {}, { sourceStoreId: 'other' }],
  [
    'it has none of the volumes of the hint same_host (SameBackendFilter)',
    {},
    { amongStores: ['other'] },
  ],
  [
    'it has a volume of the hint different_host (DifferentBackendFilter)',
    {},
    { notInStores: ['other', 'only'] },
  ],
  ['no host that reaches it is up (ReachableFilter)', { hosts: [] }, {}],
  ['its name is not gold (CapabilitiesFilter)', {}, { specs: { volume_backend_name: 'gold' } }],
  [
    'its volumes cannot be attached to several servers (CapabilitiesFilter)',
    {},
    { specs: { multiattach: '<is> True' } },
  ],
  [
    'volumes in stores of engine fake are not encrypted (EncryptionFilter)',
    {},
    { encryption: { keyBits: 256 } },
  ],
  ['it has 3 GiB free (CapacityFilter)', { freeBytes: 3 * GIB }, {}],
  [
    'no part of it has more than 3 GiB free (CapacityFilter)',
    { largestVolumeBytes: 4 * GIB - 1 },
    {},
  ],
  ['it can promise 10 GiB more (CapacityFilter)', {}, { sizeGb: 11 }],
])('a store is refused because %s', (reason, change, request) => {
  const choice = chooseStore([store('only', change)], { ...REQUEST, ...request }, 1)

  expect(choice).toMatchObject({ places: [], refusals: [`only: ${reason}`], considered: 1 })
  expect(choice.filters.filter(({ refused }) => refused > 0)).toHaveLength(1)
})

test('an encrypted volume goes to a store that encrypts, and any other to every store', () => {
  const stores = [store('plain', { encrypts: false }), store('sealed', { encrypts: true })]
  const names = (request: StoreRequest) =>
    chooseStore(stores, request, 1).places.map(({ storeName }) => storeName)

  expect(names({ ...REQUEST, encryption: { keyBits: 128 } })).toEqual(['sealed'])
  expect(names(REQUEST)).toEqual(['plain', 'sealed'])
})

test('a store promises its size as often as the ratio says', () => {
  const twice = { ...REQUEST, sizeGb: 15 }

  expect(chooseStore([store('sparse')], twice, 2).places).toHaveLength(1)
  expect(chooseStore([store('sparse', { promisedGb: 6 })], twice, 2).places).toHaveLength(0)
})

test('the volume is made through a host that is up, in the zone that was asked for', () => {
  const hosts = [
    { id: 'down' as HostId, name: 'any', zone: 'north', isUp: false },
    { id: 'elsewhere' as HostId, name: 'any', zone: 'south', isUp: true },
    { id: 'here' as HostId, name: 'any', zone: 'north', isUp: true },
  ]

  const { places } = chooseStore([store('shared', { hosts })], { ...REQUEST, zone: 'north' }, 1)

  expect(places).toEqual([
    { storeId: 'shared', storeName: 'shared', hostId: 'here', zone: 'north' },
  ])
})
