import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import {
  type FlavorFilters,
  type FlavorPageQuery,
  type FlavorSortKey,
  listFlavorRows,
} from '../../db/flavor-list.ts'
import type { Flavor } from '../../db/flavors.ts'
import { booleanText } from '../boolean-text.ts'
import type { Caller } from '../request-context.ts'
import { type TextPattern, textPattern } from '../servers/text-pattern.ts'

/** As a client words it; absent means Nova's default. */
export interface FlavorListQuery {
  readonly is_public?: string
  readonly minRam?: string
  readonly minDisk?: string
  /** A pattern. */
  readonly name?: string
  readonly sort_key?: readonly FlavorSortKey[]
  readonly sort_dir?: readonly ('asc' | 'desc')[]
  readonly marker?: string
}

const SCAN_PAGE = 1_000
/** As Python reads one: with a sign and spaces around it. */
const WHOLE_NUMBER = /^\s*[+-]?\d{1,9}\s*$/

/**
 * One page of the flavors this caller may see. Only administrators may look beyond what is public or given to their
 * project. Throws `invalid` for filters that cannot be read and for a marker that is no flavor.
 */
export async function listFlavors(
  db: Executor,
  caller: Pick<Caller, 'isAdmin' | 'projectId'>,
  query: FlavorListQuery,
  limit: number,
): Promise<readonly Flavor[]> {
  const pattern = query.name === undefined ? undefined : textPattern(query.name, 'name')
  const filters: FlavorFilters = {
    isPublic: caller.isAdmin ? isPublicFilter(query.is_public) : true,
    projectId: caller.projectId,
    enabledOnly: !caller.isAdmin,
    minRamMb: sizeFilter('minRam', query.minRam),
    minDiskGb: sizeFilter('minDisk', query.minDisk),
    nameLike: pattern?.like,
  }
  const page = {
    sortKey: query.sort_key?.[0] ?? 'flavorid',
    isDescending: query.sort_dir?.[0] === 'desc',
    marker: query.marker,
    limit,
  }
  return pattern === undefined || pattern.like !== undefined
    ? listFlavorRows(db, filters, page)
    : scan(db, filters, page, pattern)
}

/** One page of those whose name fits a pattern that SQL cannot search for. */
async function scan(
  db: Executor,
  filters: FlavorFilters,
  page: FlavorPageQuery,
  pattern: TextPattern,
): Promise<readonly Flavor[]> {
  const found: Flavor[] = []
  let { marker } = page
  while (found.length < page.limit) {
    const rows = await listFlavorRows(db, filters, { ...page, marker, limit: SCAN_PAGE })
    found.push(...rows.filter(({ name }) => pattern.matches(name)))
    if (rows.length < SCAN_PAGE) break
    marker = rows.at(-1)?.id
  }
  return found.slice(0, page.limit)
}

function isPublicFilter(text: string | undefined): boolean | null {
  if (text === undefined) return true
  if (text.toLowerCase() === 'none') return null
  const value = booleanText(text)
  if (value === undefined) throw new Failure('invalid', `Invalid is_public filter [${text}]`)
  return value
}

function sizeFilter(name: string, text: string | undefined): number {
  if (text === undefined) return 0
  if (!WHOLE_NUMBER.test(text)) throw new Failure('invalid', `Invalid ${name} filter [${text}]`)
  return Number(text)
}
