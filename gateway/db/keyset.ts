import { asc, desc, type SQL, sql } from 'drizzle-orm'

/** One key of an order. The expression must never be NULL: wrap nullable columns in COALESCE. */
export interface SortKey {
  readonly by: SQL
  readonly direction: 'asc' | 'desc'
}

/** ORDER BY of these keys; the last must be unique, so that pages neither repeat nor skip. */
export function orderOf(keys: readonly SortKey[]): SQL[] {
  return keys.map(({ by, direction }) => (direction === 'asc' ? asc(by) : desc(by)))
}

/** Rows that follow the one whose keys have `values`: (a > x) OR (a = x AND b > y) OR … */
export function followsMarker(keys: readonly SortKey[], values: readonly unknown[]): SQL {
  const branches = keys.map(({ by, direction }, last) => {
    const equal = keys.slice(0, last).map((key, i) => sql`${key.by} = ${values[i]}`)
    const beyond = direction === 'asc' ? sql`${by} > ${values[last]}` : sql`${by} < ${values[last]}`
    return sql`(${sql.join([...equal, beyond], sql` AND `)})`
  })
  return sql`(${sql.join(branches, sql` OR `)})`
}
