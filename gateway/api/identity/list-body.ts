import type { ListLinks } from '#openapi/identity.gen.ts'
import type { Listed } from '../../app/identity/listed.ts'
import type { Call } from '../../http/operation.ts'

type ListBody<Key extends string, View> = Readonly<Record<Key, readonly View[]>> & {
  readonly links: ListLinks
  readonly truncated?: true
}

/** A list as Keystone wraps it, under the name of the resource. */
export function listBody<Key extends string, Item, View>(
  { links, raw }: Pick<Call, 'links' | 'raw'>,
  key: Key,
  list: Listed<Item>,
  view: (item: Item) => View,
): ListBody<Key, View> {
  const entries = Object.fromEntries([[key, list.items.map(view)]]) as Record<Key, View[]>
  const self = links.to(raw.path + raw.search)
  return {
    ...entries,
    links: { self, previous: null, next: list.next === undefined ? null : after(list.next) },
    ...(list.isTruncated && { truncated: true as const }),
  }

  function after(marker: string): string {
    const query = new URLSearchParams(raw.search)
    query.set('marker', marker)
    return `${links.to(raw.path)}?${query.toString()}`
  }
}
