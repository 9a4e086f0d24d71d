import type { Trace } from '#openapi/wire/trace.ts'
import type { Selection } from './select-hosts.ts'

export interface TraceEnd {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly tookMs: number
  /** Names of hosts that had filled up when they were claimed. */
  readonly lostClaims: readonly string[]
  /** Null: none was left. */
  readonly chosen: string | null
}

/** A selection and its result, as they are stored and shown. */
export function hostTrace(selection: Omit<Selection, 'errors'>, end: TraceEnd): Trace {
  const { considered, filters, scores } = selection
  const { at, tookMs, lostClaims, chosen } = end
  return {
    at,
    level: 'hosts',
    considered,
    filters,
    scores,
    lostClaims: [...lostClaims],
    chosen,
    tookMs,
  }
}

/** In one sentence why no host took the server: the filter that had the last word, and an example. */
export function noHostReason({
  considered,
  filters,
}: Pick<Selection, 'considered' | 'filters'>): string {
  if (considered === 0) return 'No valid host was found: the cell has no host.'
  const last = filters.findLast(({ refused }) => refused > 0)
  const example = last?.examples[0]
  if (last === undefined || example === undefined)
    return 'No valid host was found: every host filled up while it was claimed.'
  return `No valid host was found: ${last.name} refused the last of ${considered} (${example.candidate} ${example.reason}).`
}
