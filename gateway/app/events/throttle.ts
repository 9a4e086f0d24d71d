import type { Clock } from '#common/clock.ts'

export interface ThrottleOptions {
  readonly clock: Clock
  /** The least time between two calls once there were `burst` of them. */
  readonly everyMs: number
  /** How many calls pass without delay after a rest. */
  readonly burst: number
}

/**
 * Passes a call on at once, unless there were many lately: then one call per `everyMs` stands for all calls in between.
 * Every call is followed by one that is passed on.
 */
export function throttle(call: () => void, { clock, everyMs, burst }: ThrottleOptions): () => void {
  let nextAt = Number.NEGATIVE_INFINITY
  let isWaiting = false
  const pass = () => {
    isWaiting = false
    call()
  }
  return () => {
    if (isWaiting) return
    const now = clock.elapsed()
    const at = Math.max(nextAt, now - (burst - 1) * everyMs)
    nextAt = at + everyMs
    if (at <= now) return call()
    isWaiting = true
    void clock.sleep(at - now).then(pass)
  }
}
