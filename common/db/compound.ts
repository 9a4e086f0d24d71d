/** The expectation of a statement in a compound. */
export interface Expected {
  /** As many rows must match. */
  readonly rows: number
  /** The failure of the transaction if it is not met. */
  readonly otherwise: () => Error
}

/** A statement with its values, ready to go out. */
export interface Bound {
  readonly text: string
  readonly values: readonly unknown[]
  /** As a `Statement` has them. */
  readonly sums?: readonly number[] | undefined
  readonly keys?: readonly number[] | undefined
  readonly expected?: Expected | undefined
}

export const COMMIT: Bound = { text: 'commit', values: [] }

/** More values than this gain nothing from travelling together. */
export const BATCH_VALUES_MAX = 1200

/**
 * Several statements as one, which is run in one round trip (MariaDB: `BEGIN NOT ATOMIC`). It stops at the first that fails or does not match the rows expected of it; what ran before then stays in the
 * transaction.
 */
export function compound(parts: readonly Bound[]): Bound {
  const texts = parts.map(({ text, expected }, place) =>
    expected === undefined ? `${text};` : `${text};${assertion(place)}`,
  )
  return { text: `begin not atomic ${texts.join(' ')} end`, values: parts.flatMap(valuesOf) }
}

function valuesOf({ values, expected }: Bound): readonly unknown[] {
  return expected === undefined ? values : [...values, expected.rows]
}

const SIGNAL = 'ER_SIGNAL_EXCEPTION'
const MARK = 'unexpected rows of part '

function assertion(place: number): string {
  return ` if row_count() <> ? then signal sqlstate '45000' set message_text = '${MARK}${place}'; end if;`
}

/** The failure of the part that did not match its rows; undefined when something else failed. */
export function failedExpectation(error: unknown, parts: readonly Bound[]): Error | undefined {
  const { code, message } = error as { readonly code?: string; readonly message?: string }
  if (code !== SIGNAL || message?.startsWith(MARK) !== true) return undefined
  return parts[Number(message.slice(MARK.length))]?.expected?.otherwise()
}
