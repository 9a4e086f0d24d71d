/** The only source of time for anything that decides by it, so that tests and the simulator can own it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /**
   * Milliseconds since an unspecified moment, at a steady pace when the clock is set: for differences, deadlines and
   * ages within this process.
   */
  elapsed(): number
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: (ms, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    if (signal?.aborted === true) reject(signal.reason as Error)
    else {
      const wake = () => {
        clearTimeout(timer)
        reject(signal!.reason as Error)
      }
      const end = () => {
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      const timer = setTimeout(end, ms).unref()
      signal?.addEventListener('abort', wake, { once: true })
    }
    return promise
  },
}

/** A timer may fire this much early. */
const EARLY_MS = 5

/**
 * How long to pause so as to end on one of the ticks that what a process does now and then shares, `ms` from now or somewhat
 * earlier: to wake an idle process costs more than most of what it is woken for.
 */
export function untilTick(clock: Pick<Clock, 'elapsed'>, ms: number): number {
  const tickMs = ms >= 1_000 ? 500 : 100
  if (ms < tickMs) return ms
  const now = clock.elapsed()
  return Math.floor((now + ms + EARLY_MS) / tickMs) * tickMs - now
}

/** A reason to end a sleep with: without one each `abort()` makes an error with a stack. */
export const WOKEN = new Error('woken')
