import { Failure } from '#common/errors.ts'

/** From when to when use is added up. */
export interface UsagePeriod {
  readonly from: Date
  readonly to: Date
}

/** As Nova takes them: UTC, without a zone. */
const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,6})?| \d\d:\d\d:\d\d\.\d{1,6})$/

/** The period asked for, up to now at most; none where nothing was asked. Throws `invalid`. */
export function usagePeriod(
  { start, end }: { readonly start?: string; readonly end?: string },
  now: Date,
): UsagePeriod {
  const from = start === undefined ? now : timeOf(start)
  const to = end === undefined ? now : timeOf(end)
  if (from > to || (from.getTime() === to.getTime() && start !== undefined))
    throw new Failure(
      'invalid',
      'Invalid start time. The start time cannot occur after the end time.',
    )
  return { from, to: to > now ? now : to }
}

function timeOf(text: string): Date {
  const at = TIME.test(text) ? new Date(`${text.replace(' ', 'T')}Z`) : undefined
  if (at !== undefined && !Number.isNaN(at.getTime())) return at
  throw new Failure('invalid', 'Datetime is in invalid format')
}
