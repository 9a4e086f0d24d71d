import type { Listed } from '../../app/networks/list-query.ts'
import type { Links } from '../../http/links.ts'
import { nextPage, type PageLink } from '../../http/pagination.ts'
import { pick } from './pick.ts'

interface ListCall {
  readonly links: Links
  readonly raw: { readonly path: string; readonly search: string }
  readonly query: { readonly fields?: readonly string[] }
}

type PageBody<Name extends string, V> = Readonly<Record<Name, readonly Partial<V>[]>> &
  Readonly<Partial<Record<`${Name}_links`, readonly [PageLink]>>>

/** A page as Neutron answers it: the collection under its name, and where the next page is. */
export function pageBody<Name extends string, T, V extends object>(
  { links, raw, query }: ListCall,
  name: Name,
  page: Listed<T>,
  view: (item: T) => V,
): PageBody<Name, V> {
  const items = page.items.map((item) => pick(view(item), query.fields))
  const next = nextPage(links, raw, { size: 1, limit: 1, last: page.nextMarker })
  const body = { [name]: items, ...(next === undefined ? {} : { [`${name}_links`]: [next] }) }
  // Computed names are plain strings to TypeScript.
  return body as PageBody<Name, V>
}
