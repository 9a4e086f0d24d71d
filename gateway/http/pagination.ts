import type { Links } from './links.ts'

/** The most entries in one page, as Nova's `max_limit`. */
export const PAGE_LIMIT_MAX = 1_000

/** The page size to use: what was asked for, never above the maximum. 0 asks for an empty page, as in Nova. */
export function pageLimit(asked: number | undefined): number {
  return asked === undefined ? PAGE_LIMIT_MAX : Math.min(asked, PAGE_LIMIT_MAX)
}

export interface PageLink<Rel extends 'next' | 'previous' = 'next'> {
  readonly rel: Rel
  readonly href: string
}

/**
 * The link to the page after one that ended with `last`: the same path and query with another marker. Undefined
 * when the page is not full, so that there cannot be more.
 */
export function nextPage(
  links: Links,
  target: { readonly path: string; readonly search: string },
  page: { readonly size: number; readonly limit: number; readonly last: string | undefined },
): PageLink | undefined {
  if (page.last === undefined || page.size < page.limit) return undefined
  const query = new URLSearchParams(target.search)
  query.set('marker', page.last)
  // It was skipped already.
  query.delete('offset')
  const limit = query.getAll('limit').at(-1)
  // The last of several is the one that counts.
  if (limit !== undefined) query.set('limit', limit)
  return { rel: 'next', href: `${links.to(target.path)}?${query.toString()}` }
}
