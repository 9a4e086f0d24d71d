import type { Call } from '../../http/operation.ts'
import type { PageLink } from '../../http/pagination.ts'
import { nextPage, pageLimit } from '../../http/pagination.ts'

/** The page size of a Compute list, where 0 asks for as many as there may be (nova/api/openstack/common.py). */
export function computePageLimit(asked: number | undefined): number {
  return pageLimit(asked === 0 ? undefined : asked)
}

/** The member of a list's answer that links to the next page; nothing on the last page. */
export function nextPageLinks<const Member extends string>(
  { links, raw }: Pick<Call, 'links' | 'raw'>,
  member: Member,
  page: { readonly size: number; readonly limit: number; readonly last: string | undefined },
): { readonly [member in Member]?: readonly [PageLink] } {
  const next = nextPage(links, raw, page)
  if (next === undefined) return {}
  const linked: { [member in Member]?: readonly [PageLink] } = {}
  linked[member] = [next]
  return linked
}
