import type { ListQuery } from '../../app/identity/list-query.ts'
import type { NameMatch } from '../../app/identity/model.ts'

/** The query parameters that lists of named things have, as far as a list has them. */
interface NamedListParameters {
  readonly name?: string
  readonly name__contains?: string
  readonly name__icontains?: string
  readonly name__startswith?: string
  readonly name__istartswith?: string
  readonly name__endswith?: string
  readonly name__iendswith?: string
  readonly domain_id?: string
  readonly enabled?: boolean
  readonly limit?: number
  readonly marker?: string
}

const COMPARISONS = {
  name: 'equals',
  name__contains: 'contains',
  name__icontains: 'icontains',
  name__startswith: 'startswith',
  name__istartswith: 'istartswith',
  name__endswith: 'endswith',
  name__iendswith: 'iendswith',
} as const satisfies Partial<Record<keyof NamedListParameters, NameMatch['how']>>

/** What a list is asked for. */
export function listQuery(query: NamedListParameters): ListQuery {
  const names = Object.entries(COMPARISONS).flatMap(([parameter, how]) => {
    const text = query[parameter as keyof typeof COMPARISONS]
    return text === undefined ? [] : [{ how, text }]
  })
  const { domain_id: domainId, enabled, limit, marker } = query
  return { names, domainId, enabled, limit, marker }
}
