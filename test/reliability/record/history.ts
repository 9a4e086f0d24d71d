import { type Entry, outcomeOf, type RunRecord, type Value } from './record.ts'

/** Which values a field can have had, in a stretch of time. */
export interface Possible {
  readonly values: ReadonlySet<Value>
  /** The write may never have happened; the first value then remains. */
  readonly mayBeUnwritten: boolean
}

/**
 * What a field may have once everything is over. A write answered well stands unless another such write began after it
 * ended; one without a clear answer may have been carried out at any time, also after later ones.
 */
export function finalState(record: RunRecord, thing: string, field: string): Possible {
  return possible(record, { thing, field, fromMs: Infinity, untilMs: Infinity })
}

export interface Reading {
  readonly thing: string
  readonly field: string
  readonly fromMs: number
  readonly untilMs: number
}

/** What a reading that took from `fromMs` to `untilMs` may have found, if that is asked as soon as it has ended. */
export function possible(record: RunRecord, reading: Reading): Possible {
  const { thing, field, fromMs, untilMs } = reading
  const begun = record.of(thing, field).filter(({ startMs }) => startMs < untilMs)
  const settled = begun.filter((entry) => outcomeOf(entry) === 'done' && entry.endMs <= fromMs)
  const open = begun.filter(
    (entry) =>
      outcomeOf(entry) === 'unknown' || (outcomeOf(entry) === 'done' && entry.endMs > fromMs),
  )
  const latestStart = settled.reduce((latest, { startMs }) => Math.max(latest, startMs), -Infinity)
  const standing = settled.filter(({ endMs }) => endMs > latestStart)
  const valueOf = (entry: Entry) =>
    entry.writes.flatMap((write) =>
      write.thing === thing && write.field === field ? [write.value] : [],
    )
  return {
    values: new Set([
      ...standing.flatMap(valueOf),
      ...open.flatMap(valueOf),
      ...record.pending(thing, field),
    ]),
    mayBeUnwritten: settled.length === 0,
  }
}

/** True if no order of the requests and answers explains the value. */
export function isImpossible({ values, mayBeUnwritten }: Possible, value: Value): boolean {
  return !mayBeUnwritten && !values.has(value)
}

export type Existence = 'there' | 'gone' | 'either'

/** Whether a thing must be there; things that nothing was written about may be or not. */
export function existence({ values, mayBeUnwritten }: Possible): Existence {
  if (mayBeUnwritten || values.size !== 1) return 'either'
  return values.has(true) ? 'there' : 'gone'
}
