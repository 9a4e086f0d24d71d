import { Failure } from '#common/errors.ts'
import { own } from '#common/own.ts'
import type { FilterValue, ResourcePage } from '../../db/resource-page.ts'

/** The names and values of a query string, in order. */
export type ListQuery = readonly (readonly [name: string, value: string])[]

export type AttributeKind = 'text' | 'integer' | 'boolean' | 'mac' | 'tags'

/** The filters of a collection: attribute of the API -> type of its values. */
export type FilterKinds = Readonly<Record<string, AttributeKind>>

/** The filters of every described object. */
export const DESCRIBED_FILTERS: FilterKinds = {
  id: 'text',
  name: 'text',
  description: 'text',
  project_id: 'text',
  tenant_id: 'text',
  revision_number: 'integer',
  tags: 'tags',
  'tags-any': 'tags',
  'not-tags': 'tags',
  'not-tags-any': 'tags',
}

/** The largest and default size of a page. */
const PAGE_MAX = 1_000
const VALUES_MAX = 1_000

const NOT_FILTERS: ReadonlySet<string> = new Set([
  'fields',
  'limit',
  'marker',
  'sort_key',
  'sort_dir',
  'page_reverse',
  'verbose',
])

/** Reads a Neutron list request; throws `invalid` for filters and sort keys that the collection does not have. */
export function pageOf(query: ListQuery, kinds: FilterKinds): ResourcePage {
  const groups = Map.groupBy(
    query.filter(([name]) => !NOT_FILTERS.has(name)),
    ([name]) => name,
  )
  const filters = [...groups].flatMap(([name, pairs]) =>
    filterOf(
      name,
      pairs.map(([, value]) => value),
      kinds,
    ),
  )
  return {
    filters,
    sort: sortOf(query),
    limit: limitOf(query),
    marker: all(query, 'marker').at(-1),
    isReversed: isReversed(query),
  }
}

/** A page as read. */
export interface Listed<T> {
  readonly items: readonly T[]
  /** Id of the last item if there may be more after it. */
  readonly nextMarker: string | undefined
  /** Id of the first item if there may be more before it. */
  readonly previousMarker: string | undefined
}

/** The items in the order of the request, with the markers of the next and the previous page. */
export function listed<T extends { readonly id: string }>(
  items: readonly T[],
  page: ResourcePage,
): Listed<T> {
  const isFull = items.length >= page.limit
  const inOrder = page.isReversed ? items.toReversed() : items
  // The page that the marker comes from exists: Neutron links to it, too.
  const hasMarker = page.marker !== undefined
  const [hasNext, hasPrevious] = page.isReversed ? [hasMarker, isFull] : [isFull, hasMarker]
  return {
    items: inOrder,
    nextMarker: hasNext ? inOrder.at(-1)?.id : undefined,
    previousMarker: hasPrevious ? inOrder[0]?.id : undefined,
  }
}

type Filters = ResourcePage['filters']

function filterOf(name: string, values: readonly string[], kinds: FilterKinds): Filters {
  if (values.length > VALUES_MAX)
    throw new Failure('invalid', `${name} takes at most ${VALUES_MAX} values.`)
  if (name === 'fixed_ips') return values.map(fixedIpFilter)
  const kind = own(kinds, name)
  if (kind === undefined)
    throw new Failure('invalid', `['${name}'] is invalid attribute for filtering`)
  const texts = kind === 'tags' ? values.flatMap((value) => value.split(',')) : values
  return [{ attribute: name, anyOf: texts.map((value) => read(name, value, kind)) }]
}

const FIXED_IP_KEYS: ReadonlySet<string> = new Set(['ip_address', 'ip_address_substr', 'subnet_id'])

/** `fixed_ips=ip_address=10.0.0.5`, `ip_address_substr=.0.5` or `subnet_id=…`; each narrows further. */
function fixedIpFilter(text: string): Filters[number] {
  const [key, value] = text.split('=')
  if (key !== undefined && FIXED_IP_KEYS.has(key) && value !== undefined)
    return { attribute: key, anyOf: [value] }
  throw new Failure('invalid', `'${text}' is not ip_address=ADDRESS or subnet_id=ID.`)
}

function read(name: string, value: string, kind: AttributeKind): FilterValue {
  switch (kind) {
    case 'text':
    case 'tags':
      return value
    case 'mac':
      return value.toLowerCase()
    case 'integer':
      if (/^-?\d{1,9}$/.test(value)) return Number(value)
      throw new Failure('invalid', `Invalid input for ${name}: '${value}' is not an integer.`)
    case 'boolean':
      return truth(name, value)
  }
}

function truth(name: string, value: string): boolean {
  const word = value.toLowerCase()
  if (word === 'true' || word === '1') return true
  if (word === 'false' || word === '0') return false
  throw new Failure(
    'invalid',
    `Invalid input for ${name}: '${value}' cannot be converted to boolean.`,
  )
}

function limitOf(query: ListQuery): number {
  const text = all(query, 'limit').at(-1)
  if (text === undefined) return PAGE_MAX
  if (!/^\d{1,9}$/.test(text))
    throw new Failure('invalid', `Limit must be an integer 0 or greater and not '${text}'`)
  // Neutron reads 0 as no limit of the client's.
  return Math.min(Number(text) || PAGE_MAX, PAGE_MAX)
}

function sortOf(query: ListQuery): ResourcePage['sort'] {
  const keys = all(query, 'sort_key')
  const directions = all(query, 'sort_dir')
  if (directions.length > 0 && directions.length !== keys.length)
    throw new Failure('invalid', 'The number of sort_keys and sort_dirs must be same')
  return keys.map((attribute, i) => {
    const direction = directions[i] ?? 'asc'
    if (direction === 'asc' || direction === 'desc') return { attribute, direction }
    throw new Failure('invalid', "The only allowed values for sort_dir are 'asc' and 'desc'")
  })
}

function isReversed(query: ListQuery): boolean {
  const text = all(query, 'page_reverse').at(-1)
  return text !== undefined && truth('page_reverse', text)
}

function all(query: ListQuery, name: string): readonly string[] {
  return query.filter(([key]) => key === name).map(([, value]) => value)
}
