import type { Trace } from '#openapi/wire/trace.ts'

type FilterResult = Trace['filters'][number]

/** A trace as it is stored, twice in every boot: of a filter that refused no candidate, as most do, only its name. */
export type KeptTrace = Omit<Trace, 'filters'> & {
  readonly filters: readonly (FilterResult | string)[]
}

/** The trace as it is stored: a filter that refused nothing is only its name. */
export function keptTrace(trace: Trace): KeptTrace {
  const filters = trace.filters.map((each) => (each.refused === 0 ? each.name : each))
  return { ...trace, filters }
}

/** The inverse of `keptTrace`. */
export function traceFrom(kept: KeptTrace): Trace {
  const filters = kept.filters.map((each) =>
    typeof each === 'string' ? { name: each, refused: 0, examples: [] } : each,
  )
  return { ...kept, filters }
}
