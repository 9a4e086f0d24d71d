import { Failure } from '#common/errors.ts'
import type { FilterValue, ResourcePage } from '../../db/resource-page.ts'

/** One key of an order, as asked for. */
export interface Sort<Key extends string> {
  readonly key: Key
  readonly isDescending: boolean
}

export interface SortQuery {
  /** Such as `name:asc,created_at`. */
  readonly sort?: string
  readonly sort_key?: string
  readonly sort_dir?: 'asc' | 'desc'
}

/** cinderclient asks for an order by name as for the column of Cinder's database, which Cinder takes. */
const COLUMNS: Readonly<Record<string, string>> = { display_name: 'name' }

/**
 * The order of a list: descending by creation where nothing is asked for, as Cinder's. Throws `invalid` for keys that
 * the list does not have, for unknown directions, and for both ways of asking at once.
 */
export function sortOf<Key extends string>(
  { sort, sort_key, sort_dir }: SortQuery,
  keys: readonly Key[],
): readonly Sort<Key>[] {
  const isKey = (text: string): text is Key => (keys as readonly string[]).includes(text)
  if (sort !== undefined && (sort_key !== undefined || sort_dir !== undefined))
    throw new Failure('invalid', "The parameter 'sort' excludes 'sort_key' and 'sort_dir'.")
  const asked = sort?.split(',') ?? [`${sort_key ?? 'created_at'}:${sort_dir ?? 'desc'}`]
  return asked.map((each) => {
    const [named = '', direction = 'desc', ...rest] = each.trim().split(':')
    const key = COLUMNS[named] ?? named
    if (!isKey(key))
      throw new Failure('invalid', `Invalid sort key '${key}': use one of ${keys.join(', ')}.`)
    if (rest.length > 0 || (direction !== 'asc' && direction !== 'desc'))
      throw new Failure('invalid', `Invalid sort direction in '${each}': use asc or desc.`)
    return { key, isDescending: direction === 'desc' }
  })
}

/** The parameters that the lists of volumes and of snapshots have in common, as Cinder names them. */
export interface PageQuery extends SortQuery {
  readonly marker?: string
  readonly all_tenants?: boolean
  readonly metadata?: string
}

/** Which objects a list is about, and of which projects; only administrators get those of all. */
export interface ProjectsPage extends ResourcePage {
  readonly allTenants: boolean
}

/**
 * The page that a list asks for, of objects that have the values of `equal` where there are some; the newest come first.
 * Throws `invalid` for an order or metadata that cannot be read.
 */
export function pageOf(
  query: PageQuery,
  of: {
    readonly limit: number
    readonly sortKeys: readonly string[]
    readonly equal: Readonly<Record<string, FilterValue | undefined>>
  },
): ProjectsPage {
  const { marker, all_tenants: allTenants = false, metadata } = query
  const equal = Object.entries(of.equal).flatMap(([attribute, value]) =>
    value === undefined ? [] : [{ attribute, anyOf: [value] }],
  )
  return {
    allTenants,
    limit: of.limit,
    marker,
    isReversed: false,
    sort: withTies(sortOf(query, of.sortKeys)).map(({ key, isDescending }) => {
      return { attribute: key, direction: isDescending ? 'desc' : 'asc' }
    }),
    filters: [...equal, ...metadataFilter(metadata)],
  }
}

/**
 * Objects that are equal come in the order of their times and then of their ids, in the direction of the first key, as
 * Cinder's do. No two have one id.
 */
function withTies(asked: readonly Sort<string>[]): readonly Sort<string>[] {
  const isDescending = asked[0]?.isDescending ?? true
  const isSettled = asked.some(({ key }) => key === 'id')
  const left = isSettled ? [] : ['created_at', 'id']
  const ties = left.filter((tie) => asked.every(({ key }) => key !== tie))
  return [...asked, ...ties.map((key) => ({ key, isDescending }))]
}

/** The filter for each pair of a dictionary; none where there is no dictionary. Throws `invalid` for one that cannot be read. */
function metadataFilter(text: string | undefined): ResourcePage['filters'] {
  return text === undefined ? [] : [{ attribute: 'metadata', anyOf: pairsOf(text) }]
}

/** `KEY=VALUE` of each pair of a dictionary, which clients write as Python does. */
function pairsOf(text: string): readonly string[] {
  try {
    const read: unknown = JSON.parse(text.replaceAll("'", '"'))
    if (typeof read === 'object' && read !== null && !Array.isArray(read))
      return Object.entries(read).map(([key, value]) => `${key}=${String(value)}`)
  } catch {
    // Told below: it is no dictionary either way.
  }
  throw new Failure('invalid', `Invalid filter metadata: ${text} is no dictionary of texts.`)
}
