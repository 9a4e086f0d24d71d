import { asc, desc, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { isFailure } from '#common/errors.ts'
import { yieldToEventLoop } from '#common/yield-to-event-loop.ts'

/** One key of an order: an SQL expression, its direction, and its value in the row a page starts after. */
export interface SortColumn {
  readonly column: SQLWrapper
  readonly isDescending: boolean
}

/** The terms of ORDER BY. */
export function orderOf(columns: readonly SortColumn[]): SQL[] {
  return columns.map(({ column, isDescending }) => (isDescending ? desc(column) : asc(column)))
}

/**
 * True of the rows that come after the row with these values, in this order. NULL sorts lowest, as in MySQL. The
 * last column must be unique, so that no row is skipped or shown twice.
 */
export function after(columns: readonly SortColumn[], values: readonly unknown[]): SQL {
  const [first, ...rest] = columns
  if (first === undefined) return sql`false`
  const [value, ...restValues] = values
  const beyond = beyondValue(first, value)
  if (rest.length === 0) return beyond
  return sql`(${beyond} or (${first.column} <=> ${value} and ${after(rest, restValues)}))`
}

function beyondValue({ column, isDescending }: SortColumn, value: unknown): SQL {
  if (value === null) return isDescending ? sql`false` : sql`${column} is not null`
  return isDescending ? sql`(${column} < ${value} or ${column} is null)` : sql`${column} > ${value}`
}

/**
 * The rows of these ids, in slices of them. A page in an order that no index has is read by its ids: each slice would
 * sort all rows that match again.
 */
export async function rowsOfIds<T>(
  ids: readonly string[],
  read: (slice: readonly string[]) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const all: T[] = []
  for (let from = 0; from < ids.length; from += ROWS_MAX) {
    if (from > 0) await yieldToEventLoop()
    all.push(...(await read(ids.slice(from, from + ROWS_MAX))))
  }
  return all
}

/** Of one statement: the driver reads all rows of an answer in one go, for which everybody else waits. */
export const ROWS_MAX = 125

const ID_NAMES = Array.from({ length: ROWS_MAX }, (_, nth) => `id${nth}`)

/** Where the ids of a slice stand in a statement that is built once. */
export const SLICE_OF_IDS = ID_NAMES.map((name) => sql.placeholder(name))

/** The values of `SLICE_OF_IDS`: repeated, so that the statement is the same for any number of ids. */
export function sliceOfIds(ids: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(ID_NAMES.map((name, nth) => [name, ids[nth % ids.length]]))
}

/** The first `limit` items, or all, read in slices; `read` gets the last item of the slice before. */
export async function inSlices<T>(
  limit: number,
  read: (max: number, last: T | undefined) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const all: T[] = []
  while (all.length < limit) {
    if (all.length > 0) await yieldToEventLoop()
    const max = Math.min(limit - all.length, ROWS_MAX)
    const slice = await read(max, all.at(-1))
    all.push(...slice)
    if (slice.length < max) break
  }
  return all
}

/** Which part of a page is read. */
export interface Slice {
  readonly limit: number
  /** Id of what it starts after. */
  readonly marker: string | undefined
}

/**
 * The same for rows that are found again by their id. Where the last row of a slice was deleted before the next slice
 * is read, which `read` refuses as `invalid`, the page is read in one go.
 */
export async function pageInSlices<T extends { readonly id: string }>(
  page: Slice,
  read: (slice: Slice) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  let isContinued = false
  try {
    return await inSlices<T>(page.limit, (limit, last) => {
      isContinued = last !== undefined
      return read({ limit, marker: last?.id ?? page.marker })
    })
  } catch (error) {
    if (!isContinued || !isFailure(error, 'invalid')) throw error
    return read(page)
  }
}
