import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type BackupSet, backupSets, IMAGES, PART } from './backup-set.ts'

/** Of how many of the latest days, weeks and months with a backup the newest one is kept. */
export interface Keep {
  readonly daily: number
  readonly weekly: number
  readonly monthly: number
}

const DAY_MS = 86_400_000
const DAYS_PER_WEEK = 7
/** 1970 began on a Thursday. */
const MONDAY_OFFSET_DAYS = 3

/** The sets that no rule keeps. The newest one is always kept. */
export function expiredSets<T extends Pick<BackupSet, 'name' | 'manifest'>>(
  sets: readonly T[],
  { daily, weekly, monthly }: Keep,
): readonly T[] {
  const newestFirst = sets.toSorted((a, b) => (a.name < b.name ? 1 : -1))
  const rules: readonly (readonly [number, (takenAt: string) => string])[] = [
    [daily, (takenAt) => takenAt.slice(0, 'YYYY-MM-DD'.length)],
    [weekly, weekOf],
    [monthly, (takenAt) => takenAt.slice(0, 'YYYY-MM'.length)],
  ]
  const kept = new Set(newestFirst.slice(0, 1))
  for (const [count, periodOf] of rules) {
    const newest = new Map<string, T>()
    for (const set of newestFirst) {
      const period = periodOf(set.manifest.takenAt)
      if (!newest.has(period)) newest.set(period, set)
    }
    for (const set of [...newest.values()].slice(0, count)) kept.add(set)
  }
  return newestFirst.filter((set) => !kept.has(set))
}

/** Afterwards the directory has only the sets that the rules keep, and the images of those. Returns the names of others. */
export function removeExpired(directory: string, keep: Keep): readonly string[] {
  const expired = expiredSets(backupSets(directory), keep)
  for (const { name } of expired) {
    // A set is there as a whole or not at all: what a kill leaves of this one goes with the next backup.
    const left = join(directory, `${name}${PART}`)
    renameSync(join(directory, name), left)
    rmSync(left, { recursive: true })
  }
  const used = new Set(backupSets(directory).flatMap(({ manifest }) => manifest.images))
  const images = join(directory, IMAGES)
  if (existsSync(images))
    for (const file of readdirSync(images)) if (!used.has(file)) rmSync(join(images, file))
  return expired.map(({ name }) => name)
}

/** By Monday, since weeks of a year may be shared by two. */
function weekOf(takenAt: string): string {
  const days = Math.floor(Date.parse(takenAt) / DAY_MS) + MONDAY_OFFSET_DAYS
  return String(Math.floor(days / DAYS_PER_WEEK))
}
