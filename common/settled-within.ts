import { type Clock, WOKEN } from './clock.ts'

/** What the promise comes to, or undefined when that takes longer than `ms`; it is not stopped then. */
export async function settledWithin<T>(
  clock: Clock,
  ms: number,
  promise: Promise<T>,
): Promise<T | undefined> {
  const settled = new AbortController()
  const timeUp = clock.sleep(ms, settled.signal).then(
    () => undefined,
    () => undefined,
  )
  try {
    return await Promise.race([promise, timeUp])
  } finally {
    settled.abort(WOKEN)
  }
}
