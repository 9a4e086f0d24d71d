import { expect, test, vi } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { StaleRevision } from '../db/stale-revision.ts'
import { retryStale } from './retry-stale.ts'

/** A database of which every request takes this long, as on a machine that has too much to do. */
const SLOW_MS = 90
const REQUESTS = 60

test('many changes of one object at once all get their turn, also where each takes long', async () => {
  vi.useFakeTimers()
  try {
    let revision = 0
    const change = async () => {
      const seen = revision
      await systemClock.sleep(SLOW_MS)
      if (seen !== revision) throw new StaleRevision('It')
      revision += 1
    }

    const changes = Array.from({ length: REQUESTS }, () => retryStale(systemClock, change))
    const outcomes = Promise.allSettled(changes)
    await vi.runAllTimersAsync()

    expect((await outcomes).filter(({ status }) => status === 'rejected')).toEqual([])
    expect(revision).toBe(REQUESTS)
  } finally {
    vi.useRealTimers()
  }
})

test('a change that never succeeds ends with the reason', async () => {
  vi.useFakeTimers()
  try {
    const ended = retryStale(systemClock, () => Promise.reject(new StaleRevision('It'))).catch(
      (error: unknown) => error,
    )
    await vi.runAllTimersAsync()

    expect(await ended).toMatchObject({ kind: 'conflict' })
  } finally {
    vi.useRealTimers()
  }
})
