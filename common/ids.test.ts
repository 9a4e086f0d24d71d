import { expect, test } from 'vitest'
import { newId } from './ids.ts'

/** What gophercloud's `schedulerhints` takes as a UUID. */
const TAKEN_BY_GOPHERCLOUD = /^[a-z0-9]{8}-[a-z0-9]{4}-[1-5][a-z0-9]{3}-[a-z0-9]{4}-[a-z0-9]{12}$/

test('newId is ordered by time and passes for a UUID with every client', () => {
  const ids = Array.from({ length: 100 }, () => newId())
  const times = ids.map((id) => id.slice(0, 13))

  expect(times.toSorted()).toEqual(times)
  expect(ids.filter((id) => !TAKEN_BY_GOPHERCLOUD.test(id))).toEqual([])
  expect(new Set(ids).size).toBe(100)
})
