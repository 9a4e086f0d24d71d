import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { compareMicroversions, type Microversion } from '#openapi/microversions.ts'
import {
  isServerListed,
  isServerSortKey,
  listServerPage,
  newestServers,
  type ServerOrder,
  type ServerPageQuery,
  type ServerWithTexts,
} from '../../../db/server-list.ts'
import type { RequestContext } from '../../request-context.ts'
import {
  type AddressPatterns,
  type ListFilters,
  listFilters,
  type TextMatcher,
} from './list-filters.ts'
import type { ServerListQuery } from './list-query.ts'
import { type ListScope, listScope } from './list-scope.ts'
import type { ServerRecord } from './server-record.ts'

export interface ServerPage {
  readonly servers: readonly ServerRecord[]
  /** Where the next page starts; undefined on the last one. */
  readonly next: string | undefined
}

export interface ServerListOptions {
  readonly rule: 'index' | 'detail'
  readonly limit: number
}

/** Rows looked at by patterns that SQL cannot search for, at most, before a page ends early. */
const SCAN_MAX = 10_000
const SCAN_PAGE = 1_000
const EMPTY: ServerPage = { servers: [], next: undefined }

/**
 * One page of the servers a caller may see. Throws `invalid` and `forbidden` for filters, orders and markers, as Nova
 * does. A page of a pattern that SQL cannot search for may be short, and still have a next one.
 */
export async function listServers(
  db: Executor,
  context: RequestContext,
  query: ServerListQuery,
  { rule, limit }: ServerListOptions,
): Promise<ServerPage> {
  if (isPlain(query) && context.projectId !== null)
    return fullPage(await newestServers(db, context.projectId, limit), limit)
  const scope = listScope(context, query, rule)
  const order = listOrder(context, query)
  const filters = listFilters(context, query)
  if (filters === undefined || limit === 0) return EMPTY
  // An empty one is as none, as in Nova.
  const marker = query.marker || undefined
  await checkMarker(db, scope, marker)
  const conditions = [...scope.conditions, ...filters.conditions]
  const page: ServerPageQuery = { conditions, order, marker, limit }
  if (filters.matchers.length > 0 || filters.addresses.size > 0) return scan(db, page, filters)
  const rows = await listServerPage(db, page)
  return fullPage(
    rows.map(({ server }) => server),
    limit,
  )
}

function isPlain(query: ServerListQuery): boolean {
  for (const name in query) if (name !== 'limit') return false
  return true
}

function fullPage(servers: readonly ServerRecord[], limit: number): ServerPage {
  return { servers, next: servers.length < limit ? undefined : servers.at(-1)?.id }
}

async function checkMarker(
  db: Executor,
  { conditions }: ListScope,
  marker: string | undefined,
): Promise<void> {
  if (marker === undefined) return
  if (!isUuid(marker) || !(await isServerListed(db, marker, conditions)))
    throw new Failure('invalid', `marker [${marker}] not found`)
}

async function scan(
  db: Executor,
  page: ServerPageQuery,
  { matchers, addresses }: ListFilters,
): Promise<ServerPage> {
  const fields = matchers.map(({ field }) => field)
  const found: ServerRecord[] = []
  let { marker } = page
  for (let scanned = 0; scanned < SCAN_MAX; scanned += SCAN_PAGE) {
    const rows = await listServerPage(db, { ...page, marker, limit: SCAN_PAGE }, fields)
    for (const row of rows) {
      const isFound =
        matchers.every((matcher) => fits(matcher, row)) && isReachedAt(addresses, row.server)
      if (isFound) found.push(row.server)
      if (found.length === page.limit) return { servers: found, next: row.server.id }
    }
    if (rows.length < SCAN_PAGE) return { servers: found, next: undefined }
    marker = rows.at(-1)?.server.id
  }
  return { servers: found, next: marker }
}

function fits({ field, pattern }: TextMatcher, { texts }: ServerWithTexts): boolean {
  const text = texts[field] ?? null
  return text !== null && pattern.matches(text)
}

function isReachedAt(patterns: AddressPatterns, server: ServerRecord): boolean {
  if (patterns.size === 0) return true
  return Object.values(server.addresses)
    .flat()
    .some(({ version, addr }) => patterns.get(version)?.matches(addr) === true)
}

const FOR_ADMINISTRATORS: ReadonlySet<string> = new Set(['host', 'node'])

/**
 * The order asked for, else newest first. Keys that mean nothing here order nothing. Throws `invalid` for directions
 * that cannot be read or have no key, and `forbidden` for keys that only administrators may see.
 */
function listOrder(
  { isAdmin, microversion }: Pick<RequestContext, 'isAdmin' | 'microversion'>,
  { sort_key = [], sort_dir = [] }: ServerListQuery,
): readonly ServerOrder[] {
  const keys = sort_key.length === 0 ? ['created_at'] : sort_key
  const fallback = isDescending(sort_dir[0] ?? 'desc')
  if (sort_dir.length > keys.length)
    throw new Failure('invalid', 'Sort direction size exceeds sort key size')
  const order = keys.flatMap((key, i): ServerOrder[] => {
    if (FOR_ADMINISTRATORS.has(key) && !isAdmin)
      throw new Failure('forbidden', `Only administrators can sort servers by ${key}`)
    const asked = sort_dir[i]
    const direction = asked === undefined ? fallback : isDescending(asked)
    // Before 2.73 Nova takes `locked` and orders nothing by it.
    const isIgnored =
      key === 'locked' && compareMicroversions(microversion as Microversion, '2.73') < 0
    return isServerSortKey(key) && !isIgnored ? [{ key, isDescending: direction }] : []
  })
  return order.length > 0 ? order : [{ key: 'created_at', isDescending: true }]
}

function isDescending(text: string): boolean {
  if (text === 'asc' || text === 'desc') return text === 'desc'
  throw new Failure('invalid', "Unknown sort direction, must be 'asc' or 'desc'")
}
