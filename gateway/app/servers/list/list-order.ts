import { Failure } from '#common/errors.ts'
import { compareMicroversions, type Microversion } from '#openapi/microversions.ts'
import { isServerSortKey, type ServerOrder } from '../../../db/server-list.ts'
import type { RequestContext } from '../../request-context.ts'
import type { ServerListQuery } from './list-query.ts'

const FOR_ADMINISTRATORS: ReadonlySet<string> = new Set(['host', 'node'])

/**
 * The order asked for, else newest first. Keys that mean nothing here order nothing. Throws `invalid` for directions
 * that cannot be read or have no key, and `forbidden` for keys that only administrators may see.
 */
export function listOrder(
  { isAdmin, microversion }: Pick<RequestContext, 'isAdmin' | 'microversion'>,
  { sort_key = [], sort_dir = [] }: ServerListQuery,
): readonly ServerOrder[] {
  const keys = sort_key.length === 0 ? ['created_at'] : sort_key
  const fallback = isDescending(sort_dir[0] ?? 'desc')
  if (sort_dir.length > keys.length)
    throw new Failure('invalid', 'Sort direction size exceeds sort key size')
  const order = keys.flatMap((key, i): ServerOrder[] => {
    if (FOR_ADMINISTRATORS.has(key) && !isAdmin)
      throw new Failure('forbidden', `Only administrators can sort servers by ${key}`)
    const asked = sort_dir[i]
    const direction = asked === undefined ? fallback : isDescending(asked)
    // Before 2.73 Nova takes `locked` and orders nothing by it.
    const isIgnored =
      key === 'locked' && compareMicroversions(microversion as Microversion, '2.73') < 0
    return isServerSortKey(key) && !isIgnored ? [{ key, isDescending: direction }] : []
  })
  return order.length > 0 ? order : [{ key: 'created_at', isDescending: true }]
}

function isDescending(text: string): boolean {
  if (text === 'asc' || text === 'desc') return text === 'desc'
  throw new Failure('invalid', "Unknown sort direction, must be 'asc' or 'desc'")
}
