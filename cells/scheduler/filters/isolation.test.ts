import { describe, expect, test } from 'vitest'
import { FILTER_SETTINGS, hostState, placementRequest } from '../testing.ts'
import { aggregateTypeAffinityFilter } from './aggregate-type-affinity.ts'
import { aggregateImagePropertiesIsolation, isolatedHostsFilter } from './isolation.ts'

const within = (...all: readonly Record<string, string>[]) =>
  hostState('a', { aggregates: all.map((metadata, id) => ({ id, metadata })) })

const imageRefusal = (
  imagePropertiesPrefix: string,
  properties: Record<string, string>,
  ...all: readonly Record<string, string>[]
) =>
  aggregateImagePropertiesIsolation.refuse(
    within(...all),
    placementRequest({ image: { diskFormat: 'raw', properties } }),
    { ...FILTER_SETTINGS, imagePropertiesPrefix },
  )

test('AggregateTypeAffinityFilter keeps hosts for the flavors that their aggregates name', () => {
  const refusal = (...all: readonly Record<string, string>[]) =>
    aggregateTypeAffinityFilter.refuse(
      within(...all),
      placementRequest({ flavorName: 'm1.small' }),
      FILTER_SETTINGS,
    )

  expect(refusal()).toBeUndefined()
  expect(refusal({ ssd: 'true' })).toBeUndefined()
  expect(refusal({ instance_type: 'm1.tiny, m1.small' })).toBeUndefined()
  expect(refusal({ instance_type: 'm1.tiny' }, { instance_type: 'm1.small' })).toBeUndefined()
  expect(refusal({ instance_type: 'm1.tiny' })).toBe('is in aggregates for the flavors m1.tiny')
})

test('AggregateImagePropertiesIsolation compares the properties that image and aggregates both have', () => {
  const refusal = (properties: Record<string, string>, ...all: readonly Record<string, string>[]) =>
    imageRefusal('', properties, ...all)
  const windows = { os_distro: 'windows' }

  expect(refusal(windows)).toBeUndefined()
  expect(refusal({}, windows)).toBeUndefined()
  expect(refusal({ os_distro: '' }, windows)).toBeUndefined()
  expect(refusal(windows, { os_distro: 'debian, windows' })).toBeUndefined()
  expect(refusal(windows, { os_distro: 'debian' }, windows)).toBeUndefined()
  expect(refusal(windows, { os_distro: 'debian' })).toBe(
    'is in aggregates where os_distro is debian',
  )
  expect(refusal(windows, { constructor: 'x' })).toBeUndefined()
})

test('AggregateImagePropertiesIsolation looks only at keys of its namespace, if it has one', () => {
  const windows = { os_distro: 'windows', 'os.distro': 'windows' }

  expect(imageRefusal('os.', windows, { os_distro: 'debian' })).toBeUndefined()
  expect(imageRefusal('os.', windows, { 'os.distro': 'windows' })).toBeUndefined()
  expect(imageRefusal('os.', windows, { os_distro: 'x', 'os.distro': 'debian' })).toBe(
    'is in aggregates where os.distro is debian',
  )
})

describe('IsolatedHostsFilter', () => {
  const ISOLATED = '01a20db0-0000-7000-8000-000000000001'
  const refusal = (host: string, id: string | undefined, areIsolatedHostsRestricted = true) =>
    isolatedHostsFilter.refuse(
      hostState(host),
      placementRequest({ image: { ...(id && { id }), diskFormat: 'raw', properties: {} } }),
      {
        ...FILTER_SETTINGS,
        isolatedHosts: ['apart'],
        isolatedImages: [ISOLATED],
        areIsolatedHostsRestricted,
      },
    )

  test('isolated images are on isolated hosts alone', () => {
    expect(refusal('apart', ISOLATED)).toBeUndefined()
    expect(refusal('usual', ISOLATED)).toBe('is not a host for isolated images')
    expect(refusal('usual', ISOLATED, false)).toBe('is not a host for isolated images')
  })

  test('isolated hosts take other images only where operators allow it', () => {
    expect(refusal('usual', 'other')).toBeUndefined()
    expect(refusal('apart', 'other')).toBe('is kept for isolated images')
    expect(refusal('apart', undefined)).toBe('is kept for isolated images')
    expect(refusal('apart', 'other', false)).toBeUndefined()
  })
})
