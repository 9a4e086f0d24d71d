import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { MySqlColumn, MySqlTable } from 'drizzle-orm/mysql-core'
import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { own } from '#common/own.ts'
import { after, orderOf, pageInSlices, type SortColumn } from './keyset.ts'

export type FilterValue = string | number | boolean

/** Conditions, order and bounds of one page of a collection. */
export interface ResourcePage {
  /** All must hold; each by any of its values. */
  readonly filters: readonly {
    readonly attribute: string
    readonly anyOf: readonly FilterValue[]
  }[]
  readonly sort: readonly { readonly attribute: string; readonly direction: 'asc' | 'desc' }[]
  readonly limit: number
  /** Id of the last object of the page before. */
  readonly marker: string | undefined
  /** Read from the end: the objects before the marker, the nearest first. */
  readonly isReversed: boolean
}

/** A collection as the database has it. */
export interface Collection {
  readonly table: MySqlTable
  readonly id: MySqlColumn
  /** The attributes of the API that can be filtered and sorted by, with their columns. */
  readonly attributes: Readonly<Record<string, MySqlColumn>>
  /** Attributes held elsewhere: a condition for any of some values. */
  readonly conditions?: Readonly<Record<string, (anyOf: readonly FilterValue[]) => SQL>>
}

export interface PageClauses {
  readonly where: SQL | undefined
  readonly orderBy: SQL[]
  readonly limit: number
}

/**
 * A page, of which `read` selects a slice at a time. Throws `invalid` for attributes and markers the collection does not
 * have.
 */
export function readPage<T extends { readonly id: string }>(
  db: Executor,
  collection: Collection,
  visible: SQL | undefined,
  page: ResourcePage,
  read: (clauses: PageClauses) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  return pageInSlices(page, async (slice) => {
    return read(await pageClauses(db, collection, visible, { ...page, ...slice }))
  })
}

async function pageClauses(
  db: Executor,
  collection: Collection,
  visible: SQL | undefined,
  page: ResourcePage,
): Promise<PageClauses> {
  const keys = sortKeys(collection, page)
  const follows =
    page.marker === undefined
      ? undefined
      : after(keys, await markerValues(db, collection, page.marker, keys))
  const where = and(matching(collection, visible, page.filters), follows)
  return { where, orderBy: orderOf(keys), limit: page.limit }
}

/** True of the objects that a page has room for: the visible ones that all filters leave. */
export function matching(
  collection: Collection,
  visible: SQL | undefined,
  filters: ResourcePage['filters'],
): SQL | undefined {
  return and(visible, ...filters.map((filter) => filterClause(collection, filter)))
}

function filterClause(
  collection: Collection,
  { attribute, anyOf }: ResourcePage['filters'][number],
): SQL {
  const condition = own(collection.conditions ?? {}, attribute)
  if (condition !== undefined) return condition(anyOf)
  return inArray(columnOf(collection, attribute), [...anyOf])
}

function columnOf(collection: Collection, attribute: string): MySqlColumn {
  const column = own(collection.attributes, attribute)
  if (column !== undefined) return column
  throw new Failure('invalid', `'${attribute}' is not an attribute this list can be ordered by.`)
}

function sortKeys(collection: Collection, page: ResourcePage): readonly SortColumn[] {
  const { isReversed } = page
  const asked = page.sort.map(({ attribute, direction }) => ({
    column: columnOf(collection, attribute),
    isDescending: (direction === 'desc') !== isReversed,
  }))
  if (asked.some(({ column }) => column === collection.id)) return asked
  return [...asked, { column: collection.id, isDescending: isReversed }]
}

async function markerValues(
  db: Executor,
  collection: Collection,
  marker: string,
  keys: readonly SortColumn[],
): Promise<readonly unknown[]> {
  const columns = Object.fromEntries(keys.map(({ column }, i) => [`k${i}`, sql`${column}`]))
  const [row] = await db.orm.select(columns).from(collection.table).where(eq(collection.id, marker))
  if (row === undefined) throw new Failure('invalid', `The marker ${marker} could not be found.`)
  return keys.map((_, i) => row[`k${i}`])
}
