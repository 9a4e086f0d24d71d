import { randomUUID } from 'node:crypto'
import type { Executor, Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import {
  type FlavorFilters,
  type FlavorPageQuery,
  type FlavorSortKey,
  listFlavorRows,
} from '../../db/flavor-list.ts'
import {
  deleteFlavor as deleteRow,
  type Flavor,
  type FlavorVisibility,
  findFlavor,
  insertFlavor,
  updateFlavorDescription,
} from '../../db/flavors.ts'
import { booleanText } from '../boolean-text.ts'
import { type ChangedBy, queueFlavorEvent } from '../events/resource-events.ts'
import type { Caller } from '../request-context.ts'
import { type TextPattern, textPattern } from '../servers/list/text-pattern.ts'

/** As a client words it; absent means Nova's default. */
export interface FlavorListQuery {
  readonly is_public?: string
  readonly minRam?: string
  readonly minDisk?: string
  /** A pattern. */
  readonly name?: string
  readonly sort_key?: readonly FlavorSortKey[]
  readonly sort_dir?: readonly ('asc' | 'desc')[]
  readonly marker?: string
}

const SCAN_PAGE = 1_000
/** As Python reads one: with a sign and spaces around it. */
const WHOLE_NUMBER = /^\s*[+-]?\d{1,9}\s*$/

/**
 * One page of the flavors that this caller may see. Only administrators may see flavors that are neither public nor
 * shared with their project. Throws `invalid` for malformed filters and for a marker that is not a flavor.
 */
export async function listFlavors(
  db: Executor,
  caller: Pick<Caller, 'isAdmin' | 'projectId'>,
  query: FlavorListQuery,
  limit: number,
): Promise<readonly Flavor[]> {
  const pattern = query.name === undefined ? undefined : textPattern(query.name, 'name')
  const filters: FlavorFilters = {
    isPublic: caller.isAdmin ? isPublicFilter(query.is_public) : true,
    projectId: caller.projectId,
    enabledOnly: !caller.isAdmin,
    minRamMb: sizeFilter('minRam', query.minRam),
    minDiskGb: sizeFilter('minDisk', query.minDisk),
    nameLike: pattern?.like,
  }
  const page = {
    sortKey: query.sort_key?.[0] ?? 'flavorid',
    isDescending: query.sort_dir?.[0] === 'desc',
    marker: query.marker,
    limit,
  }
  return pattern === undefined || pattern.like !== undefined
    ? listFlavorRows(db, filters, page)
    : scan(db, filters, page, pattern)
}

/** One page of those whose name fits a pattern that SQL cannot search for. */
async function scan(
  db: Executor,
  filters: FlavorFilters,
  page: FlavorPageQuery,
  pattern: TextPattern,
): Promise<readonly Flavor[]> {
  const found: Flavor[] = []
  let { marker } = page
  while (found.length < page.limit) {
    const rows = await listFlavorRows(db, filters, { ...page, marker, limit: SCAN_PAGE })
    found.push(...rows.filter(({ name }) => pattern.matches(name)))
    if (rows.length < SCAN_PAGE) break
    marker = rows.at(-1)?.id
  }
  return found.slice(0, page.limit)
}

function isPublicFilter(text: string | undefined): boolean | null {
  if (text === undefined) return true
  if (text.toLowerCase() === 'none') return null
  const value = booleanText(text)
  if (value === undefined) throw new Failure('invalid', `Invalid is_public filter [${text}]`)
  return value
}

function sizeFilter(name: string, text: string | undefined): number {
  if (text === undefined) return 0
  if (!WHOLE_NUMBER.test(text)) throw new Failure('invalid', `Invalid ${name} filter [${text}]`)
  return Number(text)
}

/** What decides which flavors a caller sees. */
export interface FlavorViewer {
  readonly projectId: string | null
  readonly isAdmin: boolean
}

/** The flavor; throws `not-found` when there is none or this caller may not see it. */
export async function showFlavor(db: Executor, caller: FlavorViewer, id: string): Promise<Flavor> {
  const flavor = await findFlavor(db, id, visibilityOf(caller))
  if (flavor === undefined) throw flavorNotFound(id)
  return flavor
}

/** Administrators see every flavor, others the public ones and those their project was given. */
export function visibilityOf({ isAdmin, projectId }: FlavorViewer): FlavorVisibility {
  return isAdmin ? { all: true } : { projectId }
}

export function flavorNotFound(id: string): Failure {
  return new Failure('not-found', `Flavor ${id} could not be found.`)
}

/** The properties that the creator of a flavor sets; without an id it gets one. */
export interface NewFlavor
  extends Omit<Flavor, 'id' | 'isDisabled' | 'extraSpecs' | 'createdAt' | 'updatedAt'> {
  readonly id: string | null
}

/**
 * Afterwards the flavor exists, under a UUID where no id was chosen. One that is not public is given to no project,
 * not even the creator's. Throws `conflict` when its id or name is taken.
 */
export async function createFlavor(
  db: Transactional,
  by: ChangedBy,
  given: NewFlavor,
): Promise<Flavor> {
  const flavor: Flavor = {
    ...given,
    id: given.id ?? randomUUID(),
    isDisabled: false,
    extraSpecs: {},
    createdAt: new Date(),
    updatedAt: null,
  }
  await db.transaction(async (tx) => {
    await insertFlavor(tx, flavor)
    await queueFlavorEvent(tx, by, 'create', flavor.id)
  })
  return flavor
}

/** Afterwards the flavor has this description. Throws `not-found`. */
export async function describeFlavor(
  db: Executor & Transactional,
  caller: Pick<Caller, 'isAdmin' | 'projectId'> & ChangedBy,
  id: string,
  description: string | null,
): Promise<Flavor> {
  await db.transaction(async (tx) => {
    if (!(await updateFlavorDescription(tx, id, description))) throw flavorNotFound(id)
    await queueFlavorEvent(tx, caller, 'update', id)
  })
  return showFlavor(db, caller, id)
}

/** Afterwards no server can be made from it; those there are keep what they have. Throws `not-found`. */
export async function deleteFlavor(db: Transactional, by: ChangedBy, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    await queueFlavorEvent(tx, by, 'delete', id)
    if (!(await deleteRow(tx, id))) throw flavorNotFound(id)
  })
}

/**
 * The flavor as it is now, for a server of this caller. Throws `invalid` where the flavor is unknown, disabled, or
 * private and not for the caller to see: on a boot Nova answers 400, not 404 (nova/api/openstack/compute/servers.py).
 */
export async function flavorForBoot(
  db: Executor,
  caller: FlavorViewer,
  flavorRef: string,
): Promise<FlavorSnapshot> {
  // Clients give an id, or a link to a flavor.
  const id = flavorRef.slice(flavorRef.lastIndexOf('/') + 1)
  const flavor = await findFlavor(db, id, visibilityOf(caller))
  if (flavor === undefined || flavor.isDisabled)
    throw new Failure('invalid', `Flavor ${id} could not be found.`)
  const { name, vcpus, memoryMb, rootGb, ephemeralGb, swapMb, extraSpecs } = flavor
  return { id, name, vcpus, memoryMb, rootGb, ephemeralGb, swapMb, extraSpecs }
}
