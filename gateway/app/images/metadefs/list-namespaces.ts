import { Failure } from '#common/errors.ts'
import { findNamespace, namespaceHeads } from '../../../db/metadefs.ts'
import type { Requester } from '../../requester.ts'
import type { Images } from '../images.ts'
import { BUILT_IN } from './built-in.ts'
import type { Namespace, NamespaceHead, Part } from './namespace.ts'

/** As Glance's `limit_param_default` and `api_limit_max`. */
const LIMIT_DEFAULT = 25
const LIMIT_MAX = 1_000

/** The page of a list and its order; newest first by default. */
export interface Paging {
  readonly limit?: number | undefined
  readonly marker?: string | undefined
  readonly sort_key?: string | undefined
  readonly sort_dir?: 'asc' | 'desc' | undefined
}

export interface NamespaceQuery extends Paging {
  readonly visibility?: 'public' | 'private' | undefined
  /** Only those that apply to one of these. */
  readonly resourceTypes?: readonly string[] | undefined
}

export interface Page<T> {
  readonly items: readonly T[]
  /** Where the next page begins, if this one is full. */
  readonly nextMarker: string | undefined
}

/**
 * The namespaces that the requester may see and that match the query. Throws `not-found` for a marker, `invalid` for a
 * sort key.
 */
export async function listNamespaces(
  { db }: Pick<Images, 'db'>,
  requester: Requester,
  { visibility, resourceTypes, ...paging }: NamespaceQuery,
): Promise<Page<NamespaceHead>> {
  const isMeant = (it: NamespaceHead) =>
    (visibility === undefined || it.visibility === visibility) &&
    (resourceTypes === undefined ||
      it.resourceTypes.some(({ name }) => resourceTypes.includes(name)))
  const seen = (await allHeads(db)).filter((it) => isVisible(it, requester))
  const marked = seen.find(({ name }) => name === paging.marker)
  if (paging.marker !== undefined && marked === undefined) throw noSuchNamespace(paging.marker)
  return pageOf(
    seen.filter((it) => isMeant(it) || it === marked),
    paging,
    isMeant,
  )
}

/** The names of all kinds of things that a namespace seen by the requester applies to. */
export async function resourceTypes(
  { db }: Pick<Images, 'db'>,
  requester: Requester,
): Promise<readonly Part[]> {
  const seen = (await allHeads(db)).filter((it) => isVisible(it, requester))
  const byName = new Map(seen.flatMap((it) => it.resourceTypes).map((type) => [type.name, type]))
  return [...byName.values()].toSorted((a, b) => compare(a.name, b.name))
}

/** Throws `not-found` also for another project's that is private. */
export async function visibleNamespace(
  { db }: Pick<Images, 'db'>,
  requester: Requester,
  name: string,
): Promise<Namespace> {
  const found = BUILT_IN.find((it) => it.name === name) ?? (await findNamespace(db, name))
  if (found === undefined || !isVisible(found, requester)) throw noSuchNamespace(name)
  return found
}

/** True for public namespaces, own ones, and for administrators. */
export function isVisible(
  { visibility, owner }: NamespaceHead,
  { isAdmin, projectId }: Requester,
): boolean {
  return isAdmin || visibility === 'public' || owner === projectId
}

export function noSuchNamespace(name: string): Failure {
  return new Failure('not-found', `There is no namespace ${name}.`)
}

const SORTED_BY = new Map([
  ['namespace', 'name'],
  ['name', 'name'],
  ['created_at', 'createdAt'],
  ['updated_at', 'updatedAt'],
  ['visibility', 'visibility'],
  ['owner', 'owner'],
  ['display_name', 'displayName'],
  ['protected', 'isProtected'],
])

/** A page of named objects; the object that the marker names need not be in the list. */
export function pageOf<T extends { readonly name: string }>(
  all: readonly T[],
  { limit = LIMIT_DEFAULT, marker, sort_key: key = 'created_at', sort_dir: direction }: Paging,
  isMeant: (item: T) => boolean = () => true,
): Page<T> {
  const field = SORTED_BY.get(key)
  if (field === undefined)
    throw new Failure(
      'invalid',
      `sort_key is ${key}; it can be ${[...SORTED_BY.keys()].join(', ')}.`,
    )
  const valueOf = (item: T) => sortText((item as Readonly<Record<string, unknown>>)[field])
  const ordered = all.toSorted((a, b) => compare(valueOf(a), valueOf(b)) || compare(a.name, b.name))
  if (direction !== 'asc') ordered.reverse()
  const start = marker === undefined ? 0 : ordered.findIndex(({ name }) => name === marker) + 1
  const size = Math.min(limit, LIMIT_MAX)
  const items = ordered.slice(start).filter(isMeant).slice(0, size)
  return { items, nextMarker: items.length === size ? items.at(-1)?.name : undefined }
}

async function allHeads(db: Images['db']): Promise<readonly NamespaceHead[]> {
  return [...BUILT_IN, ...(await namespaceHeads(db))]
}

function sortText(value: unknown): string {
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'string' ? value : JSON.stringify(value ?? '')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}
