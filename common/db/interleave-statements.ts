import type { Bound } from './compound.ts'
import { EQUALS } from './statement.ts'

/**
 * The statements of several transactions of one shape, in the order in which each of them has its own: the first of
 * all, then the second of all. So rows are locked in the same order as by one of them, and the same insert of all is one
 * insert of many rows, what adds up is written once, and the same change of several rows is one change.
 */
export function interleaveStatements(
  transactions: readonly (readonly Bound[])[],
): readonly Bound[] {
  const [first = []] = transactions
  return first.flatMap((_, place) => together(transactions.map((parts) => parts[place]!)))
}

function together(same: readonly Bound[]): readonly Bound[] {
  const [{ text, expected, sums, keys }] = same as readonly [Bound]
  if (sums !== undefined) return summed(same, sums)
  if (keys !== undefined) return listed(same, keys)
  const wide = expected === undefined ? insertOf(text, same.length) : undefined
  return wide === undefined ? same : [{ text: wide, values: same.flatMap(({ values }) => values) }]
}

/** Those together that differ in nothing but the values at these places. */
function equalBut(
  places: readonly number[],
  same: readonly Bound[],
): readonly (readonly [Bound, ...Bound[]])[] {
  const others = ({ values }: Bound) =>
    JSON.stringify(values.map((value, place) => (places.includes(place) ? 0 : value)))
  return [...Map.groupBy(same, others).values()] as unknown as readonly [Bound, ...Bound[]][]
}

/** One of all those that differ in nothing but the values at these places, of which it has lists. */
function listed(same: readonly Bound[], keys: readonly number[]): readonly Bound[] {
  return equalBut(keys, same).map((equal) => {
    const [first] = equal
    if (equal.length === 1) return first
    const rows = equal.reduce((sum, { expected }) => sum + (expected?.rows ?? 0), 0)
    const values = first.values.flatMap((value, place) =>
      keys.includes(place) ? equal.map((each) => each.values[place]) : [value],
    )
    const text = withLists(first.text, keys, equal.length)
    return { ...first, text, values, expected: first.expected && { ...first.expected, rows } }
  })
}

function withLists(text: string, keys: readonly number[], length: number): string {
  const list = ` in (${Array<string>(length).fill('?').join(', ')})`
  const [head, ...rest] = text.split('?') as [string, ...string[]]
  return rest.reduce(
    (before, after, place) =>
      keys.includes(place)
        ? `${before.slice(0, -EQUALS.length)}${list}${after}`
        : `${before}?${after}`,
    head,
  )
}

/** One of all those that differ in nothing but the values at these places, which it has the sums of. */
function summed(same: readonly Bound[], sums: readonly number[]): readonly Bound[] {
  return equalBut(sums, same).map((equal) => ({
    ...equal[0],
    values: equal[0].values.map((value, place) =>
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
