import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import {
  isServerListed,
  listServerPage,
  newestServers,
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
import { listOrder } from './list-order.ts'
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
