import type { Call } from '../../http/operation.ts'
import type { PageLink } from '../../http/pagination.ts'
import { nextPage, pageLimit } from '../../http/pagination.ts'

/** The page size of a Compute list, where 0 asks for as many as there may be (nova/api/openstack/common.py). */
export function computePageLimit(asked: number | undefined): number {
  return pageLimit(asked === 0 ? undefined : asked)
}

/** The link to the next page, in the list that such answers have; undefined on the last page. */
export function nextPageLinks(
  { links, raw }: Pick<Call, 'links' | 'raw'>,
  page: { readonly size: number; readonly limit: number; readonly last: string | undefined },
): readonly [PageLink] | undefined {
  const next = nextPage(links, raw, page)
  return next === undefined ? undefined : [next]
}
