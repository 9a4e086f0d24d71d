/** The only source of time for anything that decides by it, so that tests and the simulator can own it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /**
   * Milliseconds since some moment, at one pace whatever the clock is set to: for differences, deadlines and ages within
   * this process.
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

/** A reason to end a sleep with: without one each `abort()` makes an error with a stack. */
export const WOKEN = new Error('woken')
