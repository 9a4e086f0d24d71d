import type { Clock } from '#common/clock.ts'

export interface ThrottleOptions {
  readonly clock: Clock
  /** What is kept to when there is much to pass on. */
  readonly everyMs: number
  /** How many may go at once after a rest. */
  readonly burst: number
}

/**
 * Passes a call on at once, unless there were many lately: then as soon as one per `everyMs` allows, and one for all that
 * came meanwhile. None is without one after it.
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
