import { setTimeout as timer } from 'node:timers/promises'

/** The only source of time for anything that decides by it, so that tests and the simulator can own it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async (ms, signal) => {
    await timer(ms, undefined, signal === undefined ? { ref: false } : { signal, ref: false })
  },
}
