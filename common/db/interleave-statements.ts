import type { Bound } from './compound.ts'

/**
 * The statements of several transactions of one shape, in the order in which each of them has its own: the first of
 * all, then the second of all. So rows are locked in the same order as by one of them, and the same insert of all is one
 * insert of many rows, and what adds up is written once.
 */
export function interleaveStatements(
  transactions: readonly (readonly Bound[])[],
): readonly Bound[] {
  const [first = []] = transactions
  return first.flatMap((_, place) => together(transactions.map((parts) => parts[place]!)))
}

function together(same: readonly Bound[]): readonly Bound[] {
  const [{ text, expected, sums }] = same as readonly [Bound]
  if (sums !== undefined) return summed(same, sums)
  const wide = expected === undefined ? insertOf(text, same.length) : undefined
  return wide === undefined ? same : [{ text: wide, values: same.flatMap(({ values }) => values) }]
}

/** One of all those that differ in nothing but the values at these places, which it has the sums of. */
function summed(same: readonly Bound[], sums: readonly number[]): readonly Bound[] {
  const others = ({ values }: Bound) =>
    JSON.stringify(values.map((value, place) => (sums.includes(place) ? 0 : value)))
  return [...Map.groupBy(same, others).values()].map((equal) => ({
    ...equal[0]!,
    values: equal[0]!.values.map((value, place) =>
      sums.includes(place)
        ? equal.reduce((sum, { values }) => sum + Number(values[place]), 0)
        : value,
    ),
  }))
}

const DUPLICATE = ' on duplicate key update '
const INSERT = /^\s*insert into\s/
const VALUES = /\svalues\s+/

/** The insert with its rows so many times; undefined for statements other than an insert of plain values. */
function insertOf(text: string, times: number): string | undefined {
  const [head, update, ...more] = text.split(DUPLICATE) as [string, ...string[]]
  const values = VALUES.exec(head)
  if (!INSERT.test(head) || values === null || more.length > 0) return undefined
  if (update?.includes('?') === true) return undefined
  const from = values.index + values[0].length
  const rows = Array<string>(times).fill(head.slice(from))
  const wide = head.slice(0, from) + rows.join(', ')
  return update === undefined ? wide : wide + DUPLICATE + update
}
