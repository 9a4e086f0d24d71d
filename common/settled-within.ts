import { type Clock, WOKEN } from './clock.ts'

/** The value of the promise, or undefined if that takes longer than `ms`; the promise is not cancelled then. */
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
