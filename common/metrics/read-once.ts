import type { Clock } from '../clock.ts'

/** Figures are no older than this when they are read. */
const FRESH_MS = 5_000
/** Of the time between two readings, the least that is spent otherwise: slow figures are read less often. */
const REST_RATIO = 50

/**
 * Runs `read` for those who ask, and again only once its result is five seconds old, or fifty times as old as the reading took:
 * so any number of scrapes cost the database less than a fiftieth of its time. All that ask meanwhile share a reading.
 */
export function readOnce<T>(
  clock: Pick<Clock, 'elapsed'>,
  read: () => Promise<T>,
): () => Promise<T> {
  let reading: Promise<T> | undefined
  let known: { readonly value: T; readonly until: number } | undefined
  const begin = async () => {
    const startedAt = clock.elapsed()
    try {
      const value = await read()
      const now = clock.elapsed()
      known = { value, until: now + Math.max(FRESH_MS, REST_RATIO * (now - startedAt)) }
      return value
    } finally {
      reading = undefined
    }
  }
  return () => {
    if (known !== undefined && clock.elapsed() < known.until) return Promise.resolve(known.value)
    reading ??= begin()
    return reading
  }
}
