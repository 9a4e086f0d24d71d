import type { Trace } from '#openapi/wire/trace.ts'

/** The filter that removed the last candidate of a decision without result. */
export interface LastRefusal {
  /** Null: those that passed all filters filled up before they were claimed. */
  readonly filter: string | null
  readonly considered: number
  readonly level: Trace['level']
}

/**
 * Undefined where the decision has a result. Filters run in order, so the last one that refused a candidate removed
 * the last.
 */
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
