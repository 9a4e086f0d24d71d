import type { Trace } from '#openapi/wire/trace.ts'

/** What left nobody in a decision that chose nobody. */
export interface LastRefusal {
  /** Null: those that passed all filters filled up before they were claimed. */
  readonly filter: string | null
  readonly considered: number
  readonly level: Trace['level']
}

/** Undefined where a decision chose somebody. Filters run in order, so the last that refused anyone left nobody. */
export function lastRefusal({
  chosen,
  filters,
  considered,
  level,
}: Trace): LastRefusal | undefined {
  if (chosen !== null) return undefined
  const last = filters.findLast(({ refused }) => refused > 0)
  return { filter: last?.name ?? null, considered, level }
}
