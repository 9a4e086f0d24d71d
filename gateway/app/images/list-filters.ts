import { Failure } from '#common/errors.ts'
import { IMAGE_STATUSES, IMAGE_VISIBILITIES } from '#common/states/image-states.ts'
import type { Comparison, ImageFilter } from '../../db/image-list.ts'

/** The names and values of a query string, in order. Names that are no attribute filter by custom property. */
export type ListQuery = readonly (readonly [name: string, value: string])[]

const FILTERS_MAX = 64
const VALUES_MAX = 1_000

const NOT_FILTERS: ReadonlySet<string> = new Set([
  'limit',
  'marker',
  'sort',
  'sort_key',
  'sort_dir',
])

/** The filters of a list request. Throws `invalid`, naming the malformed filter. */
export function filtersOf(query: ListQuery): readonly ImageFilter[] {
  const given = query.filter(([name]) => !NOT_FILTERS.has(name))
  if (given.length > FILTERS_MAX)
    throw new Failure('invalid', `A list takes at most ${FILTERS_MAX} filters.`)
  const filters = given.flatMap(([name, value]) => filterOf(name, value))
  // Hidden images are left out unless asked for (Glance since 2.7).
  const asksHidden = given.some(([name]) => name === 'os_hidden')
  return asksHidden ? filters : [...filters, { field: 'os_hidden', is: false }]
}

function filterOf(name: string, value: string): readonly ImageFilter[] {
  switch (name) {
    case 'id':
    case 'name':
    case 'disk_format':
    case 'container_format':
      return [{ field: name, anyOf: choices(name, value) }]
    case 'owner':
    case 'checksum':
    case 'os_hash_value':
      return [{ field: name, anyOf: [value] }]
    case 'status':
      return [{ field: name, anyOf: known(name, choices(name, value), STATUSES) }]
    case 'visibility':
      return value === 'all' ? [] : [{ field: name, anyOf: known(name, [value], VISIBILITIES) }]
    // Says whose images are seen, not which of them.
    case 'member_status':
      return []
    case 'tag':
      return [{ field: name, has: value }]
    case 'protected':
    case 'os_hidden':
      return [{ field: name, is: truth(name, value) }]
    case 'size_min':
    case 'size_max':
      return [
        { field: 'size', compare: name.endsWith('min') ? 'gte' : 'lte', than: count(name, value) },
      ]
    case 'min_disk':
    case 'min_ram':
      return [{ field: name, compare: 'eq', than: count(name, value) }]
    case 'created_at':
    case 'updated_at':
      return [timeFilter(name, value)]
    default:
      return [{ field: 'property', name, value }]
  }
}

/** Names of states that Glance has and this service never reaches are not mistakes: nothing has them. */
const STATUSES: ReadonlySet<string> = new Set([
  ...IMAGE_STATUSES,
  'killed',
  'deleted',
  'pending_delete',
])
const VISIBILITIES: ReadonlySet<string> = new Set(IMAGE_VISIBILITIES)

function known(
  field: string,
  values: readonly string[],
  names: ReadonlySet<string>,
): readonly string[] {
  const unknown = values.find((value) => !names.has(value))
  if (unknown === undefined) return values
  throw new Failure('invalid', `Invalid ${field} value '${unknown}': use ${[...names].join(', ')}.`)
}

const LIST = /^(?:"[^"]*"|[^",]+)(?:,(?:"[^"]*"|[^",]+))*,?$/
const LIST_ITEM = /"([^"]*)"|([^",]+)/g

/** `in:a,b,"c,d"`: any of them; anything else is one value. */
function choices(field: string, value: string): readonly string[] {
  if (!value.startsWith('in:')) return [value]
  const list = value.slice('in:'.length)
  if (!LIST.test(list))
    throw new Failure('invalid', `Invalid filter value for ${field}: '${value}'.`)
  const values = [...list.matchAll(LIST_ITEM)].map(([, quoted, plain]) => quoted ?? plain ?? '')
  if (values.length > VALUES_MAX)
    throw new Failure('invalid', `${field} takes at most ${VALUES_MAX} values.`)
  return values
}

function truth(field: string, value: string): boolean {
  const word = value.toLowerCase()
  if (word === 'true' || word === '1') return true
  if (word === 'false' || word === '0') return false
  throw new Failure('invalid', `${field} must be true or false.`)
}

function count(field: string, value: string): number {
  if (/^\d{1,15}$/.test(value)) return Number(value)
  throw new Failure('invalid', `${field} must be an integer from 0.`)
}

const COMPARISONS: ReadonlySet<string> = new Set(['eq', 'neq', 'gt', 'gte', 'lt', 'lte'])

function timeFilter(field: 'created_at' | 'updated_at', value: string): ImageFilter {
  const operator = value.slice(0, value.indexOf(':'))
  const compare = COMPARISONS.has(operator) ? (operator as Comparison) : 'eq'
  const than = new Date(COMPARISONS.has(operator) ? value.slice(operator.length + 1) : value)
  if (Number.isNaN(than.getTime()))
    throw new Failure(
      'invalid',
      `${field} must be a time in ISO 8601 form, such as gte:2026-01-31T00:00:00Z.`,
    )
  return { field, compare, than }
}
