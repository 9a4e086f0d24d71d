import type { Listed } from '../../app/networks/list-query.ts'
import type { Links } from '../../http/links.ts'
import type { PageLink } from '../../http/pagination.ts'
import { pick } from './request.ts'

interface ListCall {
  readonly links: Links
  readonly raw: { readonly path: string; readonly search: string }
  readonly query: { readonly fields?: readonly string[] }
}

type Rel = 'next' | 'previous'

type PageBody<Name extends string, V> = Readonly<Record<Name, readonly Partial<V>[]>> &
  Readonly<Partial<Record<`${Name}_links`, readonly PageLink<Rel>[]>>>

/** A page as Neutron answers it: the collection under its name, and where the pages beside it are. */
export function pageBody<Name extends string, T, V extends object>(
  call: ListCall,
  name: Name,
  page: Listed<T>,
  view: (item: T) => V,
): PageBody<Name, V> {
  const items = page.items.map((item) => pick(view(item), call.query.fields))
  const links = [
    ...linkFrom(call, 'next', page.nextMarker),
    ...linkFrom(call, 'previous', page.previousMarker),
  ]
  const body = { [name]: items, ...(links.length === 0 ? {} : { [`${name}_links`]: links }) }
  // Computed names are plain strings to TypeScript.
  return body as PageBody<Name, V>
}

/** The same query from another marker, forwards or backwards. */
function linkFrom(
  { links, raw }: ListCall,
  rel: Rel,
  marker: string | undefined,
): readonly PageLink<Rel>[] {
  if (marker === undefined) return []
  const query = new URLSearchParams(raw.search)
  query.set('marker', marker)
  query.delete('page_reverse')
  if (rel === 'previous') query.set('page_reverse', 'True')
  return [{ rel, href: `${links.to(raw.path)}?${query.toString()}` }]
}
