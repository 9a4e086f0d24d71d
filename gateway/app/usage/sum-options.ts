import { Failure } from '#common/errors.ts'
import { parseIsoTime } from '../iso-time.ts'
import { USAGE_KEYS, type UsageKey } from './sum-usage.ts'
import type { UsagePeriod } from './usage-period.ts'

/** From the beginning of the month until now, unless something else was asked for. Throws `invalid`. */
export function summedPeriod(
  { start, end }: { readonly start?: string; readonly end?: string },
  now: Date,
): UsagePeriod {
  const asked = end === undefined ? now : parseIsoTime(end, 'end')
  const to = asked > now ? now : asked
  const month = new Date(Date.UTC(to.getUTCFullYear(), to.getUTCMonth(), 1))
  const from = start === undefined ? month : parseIsoTime(start, 'start')
  if (from < to || (start === undefined && from.getTime() === to.getTime())) return { from, to }
  throw new Failure(
    'invalid',
    `Invalid start: ${from.toISOString()} is not before the end of the period, ${to.toISOString()}.`,
  )
}

/** What sums are told apart by. Throws `invalid` for another word. */
export function usageKeys(text = 'project'): ReadonlySet<UsageKey> {
  const words = text.split(',').map((word) => word.trim())
  const wrong = words.find((word) => !(USAGE_KEYS as readonly string[]).includes(word))
  if (wrong === undefined) return new Set(words as UsageKey[])
  throw new Failure('invalid', `Invalid by: '${wrong}' is none of ${USAGE_KEYS.join(', ')}.`)
}
