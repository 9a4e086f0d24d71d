import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { listTypeRows, TYPE_SORT_KEYS } from '../../db/volume-type-list.ts'
import type { VolumeType } from '../../db/volume-types.ts'
import { booleanText } from '../boolean-text.ts'
import type { Caller } from '../request-context.ts'
import { type SortQuery, sortOf } from './list-query.ts'
import { mayFilterBy } from './type-specs.ts'

/** As a client words it; absent means Cinder's default. */
export interface TypeListQuery extends SortQuery {
  readonly is_public?: string
  readonly extra_specs?: string
  readonly marker?: string
  readonly offset?: number
}

/**
 * One page of the types that this caller may see. Only administrators may see types that are neither public nor shared
 * with their project. Throws `invalid` for malformed filters and for a marker that is not a type.
 */
export async function listTypes(
  db: Executor,
  caller: Caller,
  query: TypeListQuery,
  limit: number,
): Promise<readonly VolumeType[]> {
  const extraSpecs = query.extra_specs === undefined ? {} : specsOf(query.extra_specs)
  const page = {
    sort: sortOf(query, TYPE_SORT_KEYS),
    marker: query.marker,
    limit,
    offset: query.offset ?? 0,
  }
  const isPublic = caller.isAdmin ? isPublicFilter(query.is_public) : true
  if (!mayFilterBy(caller, extraSpecs)) return []
  return listTypeRows(db, { isPublic, projectId: caller.projectId, extraSpecs }, page)
}

function isPublicFilter(text: string | undefined): boolean | null {
  if (text === undefined) return true
  if (text.toLowerCase() === 'none') return null
  const value = booleanText(text)
  if (value === undefined) throw new Failure('invalid', `Invalid is_public filter [${text}]`)
  return value
}

const QUOTED = /'([^'\\]*)'|"([^"\\]*)"/g

/** Clients send a dictionary as Python writes it, of which texts without escapes are taken; JSON is one, too. */
function specsOf(text: string): Readonly<Record<string, string>> {
  try {
    const read: unknown = JSON.parse(text.replaceAll(QUOTED, (_, a, b) => JSON.stringify(a ?? b)))
    const entries = Object.entries(read as object)
    if (entries.every((entry): entry is [string, string] => typeof entry[1] === 'string'))
      return Object.fromEntries(entries)
  } catch {
    // The same refusal as for what JSON has and the filter has not.
  }
  throw new Failure('invalid', `Invalid extra_specs filter [${text}]: send texts by their keys.`)
}
