import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { backupSets, MANIFEST, newManifest, setName } from './backup-set.ts'
import { expiredSets, removeExpired } from './keep-backup-sets.ts'

const files = vi.hoisted(() => ({ areKept: false }))
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const kept = (path: string) => {
    fs.rmSync(join(path, 'backup.json'))
    throw new Error('killed')
  }
  const remove: typeof fs.rmSync = (path, options) =>
    files.areKept ? kept(String(path)) : fs.rmSync(path, options)
  return { ...fs, rmSync: remove }
})

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

test('a removal that is killed leaves no part of a backup among the others', () => {
  const directory = mkdtempSync(join(tmpdir(), 'weir-sets-'))
  const sets = [setAt('2026-11-22T02:00:00Z'), setAt('2026-11-23T02:00:00Z')]
  for (const { name, manifest } of sets) {
    mkdirSync(join(directory, name))
    writeFileSync(join(directory, name, MANIFEST), JSON.stringify(manifest))
  }

  files.areKept = true
  expect(() => removeExpired(directory, { daily: 1, weekly: 0, monthly: 0 })).toThrow('killed')
  files.areKept = false

  expect(backupSets(directory).map(({ name }) => name)).toEqual(['2026-11-23T020000Z'])
  expect(existsSync(join(directory, '2026-11-22T020000Z'))).toBe(false)
  rmSync(directory, { recursive: true })
})
