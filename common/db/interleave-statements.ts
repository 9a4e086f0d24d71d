import type { Bound } from './compound.ts'

/**
 * The statements of several transactions of one shape, in the order in which each of them has its own: the first of
 * all, then the second of all. So rows are locked in the same order as by one of them, and the same insert of all is one
 * insert of many rows.
 */
export function interleaveStatements(
  transactions: readonly (readonly Bound[])[],
): readonly Bound[] {
  const [first = []] = transactions
  return first.flatMap((_, place) => together(transactions.map((parts) => parts[place]!)))
}

function together(same: readonly Bound[]): readonly Bound[] {
  const [{ text, expected }] = same as readonly [Bound]
  const wide = expected === undefined ? insertOf(text, same.length) : undefined
  return wide === undefined ? same : [{ text: wide, values: same.flatMap(({ values }) => values) }]
}

const DUPLICATE = ' on duplicate key update '
const VALUES = ' values '

/** The insert with its rows so many times; undefined for statements other than an insert of plain values. */
function insertOf(text: string, times: number): string | undefined {
  const [head, update, ...more] = text.split(DUPLICATE) as [string, ...string[]]
  const at = head.indexOf(VALUES)
  if (!head.startsWith('insert into ') || at === -1 || more.length > 0) return undefined
  if (update?.includes('?') === true) return undefined
  const rows = Array<string>(times).fill(head.slice(at + VALUES.length))
  const wide = head.slice(0, at) + VALUES + rows.join(', ')
  return update === undefined ? wide : wide + DUPLICATE + update
}
