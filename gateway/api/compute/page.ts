import type { Call } from '../../http/operation.ts'
import type { PageLink } from '../../http/pagination.ts'
import { nextPage } from '../../http/pagination.ts'

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
