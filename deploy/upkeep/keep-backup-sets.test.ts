import { expect, test } from 'vitest'
import { newManifest, setName } from './backup-set.ts'
import { expiredSets } from './keep-backup-sets.ts'

function setAt(time: string) {
  const at = new Date(time)
  return { name: setName(at), manifest: newManifest(at, [], []) }
}

const keptOf = (times: readonly string[], keep: Parameters<typeof expiredSets>[1]) => {
  const sets = times.map(setAt)
  const expired = new Set(expiredSets(sets, keep))
  return sets
    .filter((set) => !expired.has(set))
    .map(({ manifest }) => manifest.takenAt.slice(0, 13))
}

test('the newest backup of each of the latest days, weeks and months is kept', () => {
  const days = Array.from({ length: 70 }, (_, day) =>
    new Date(Date.UTC(2026, 8, 1 + day, 2)).toISOString(),
  )
  const times = [...days, '2026-11-09T12:00:00Z']

  expect(keptOf(times, { daily: 3, weekly: 0, monthly: 0 })).toEqual([
    '2026-11-07T02',
    '2026-11-08T02',
    '2026-11-09T12',
  ])
  // Weeks end on Sunday.
  expect(keptOf(times, { daily: 0, weekly: 3, monthly: 0 })).toEqual([
    '2026-11-01T02',
    '2026-11-08T02',
    '2026-11-09T12',
  ])
  expect(keptOf(times, { daily: 1, weekly: 1, monthly: 3 })).toEqual([
    '2026-09-30T02',
    '2026-10-31T02',
    '2026-11-09T12',
  ])
})

test('periods without a backup are not counted, and the newest backup is always kept', () => {
  const times = ['2025-01-01T02:00:00Z', '2026-06-01T02:00:00Z']

  expect(keptOf(times, { daily: 2, weekly: 0, monthly: 0 })).toHaveLength(2)
  expect(keptOf(times, { daily: 0, weekly: 0, monthly: 0 })).toEqual(['2026-06-01T02'])
})
