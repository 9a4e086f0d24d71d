import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import type { Cell } from '../../../cell-client/cell.ts'
import { serversOfProject } from '../../../db/known-servers.ts'
import { runsHostFilter } from '../../cells/host-filters.ts'
import type { Requester } from '../../requester.ts'
import type { SchedulerHints } from './requested-properties.ts'
import type { ServerRequest } from './server-request.ts'

/** Nova's own prefix, which users cannot use. */
const RESERVED = '_nova'

/** The hints as Nova keeps and shows them: every value is text, in a list. */
export function keptHints(asked: Readonly<Record<string, unknown>>): SchedulerHints {
  const kept = Object.entries(asked).filter(([name]) => !name.startsWith(RESERVED))
  return Object.fromEntries(
    kept.map(([name, value]) => [name, (Array.isArray(value) ? value : [value]).map(textOf)]),
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

type NeighbourHints = Pick<InstanceBuild, 'sameHost' | 'differentHost'>

/**
 * The servers that the hints name as neighbours, wanted or unwanted; an empty hint has no effect, as in Nova. Servers
 * of other projects count as missing: otherwise any user could place a server beside one of another project, and learn
 * where that is.
 */
export async function neighbourHints(
  db: Executor,
  requester: Pick<Requester, 'isAdmin' | 'projectId'>,
  { same_host, different_host }: ServerRequest['hints'],
): Promise<NeighbourHints> {
  const [same, different] = [texts(same_host), texts(different_host)]
  const seen = await serversOfProject(
    db,
    requester.isAdmin ? undefined : (requester.projectId ?? ''),
    [...same, ...different],
  )
  return {
    ...(same.length > 0 && { sameHost: same.filter((id) => seen.has(id)) }),
    ...(different.length > 0 && { differentHost: different.filter((id) => seen.has(id)) }),
  }
}

/**
 * The cell that the hint `target_cell` insists on, and those that `different_cell` excludes. `enforce` throws `forbidden`
 * for callers who may not know cells (nova, cells v1: TargetCellFilter, DifferentCellFilter).
 */
export function cellHints(
  { target_cell, different_cell }: ServerRequest['hints'],
  enforce: (rule: string) => void,
): Pick<InstanceBuild, 'targetCell' | 'differentCells'> {
  const [target] = texts(target_cell)
  const different = texts(different_cell)
  if (target !== undefined) enforce('cells_scheduler_filter:TargetCellFilter')
  if (different.length > 0) enforce('cells_scheduler_filter:DifferentCellFilter')
  return {
    ...(target !== undefined && { targetCell: target }),
    ...(different.length > 0 && { differentCells: different }),
  }
}

/** Hints that promise something about where a server runs, and the filter of hosts that keeps the promise where it runs. */
const FILTER_OF_HINT = {
  build_near_host_ip: 'SimpleCIDRAffinityFilter',
  query: 'JsonFilter',
} as const
/** The same of hints that name servers, and mean nothing where these are none. */
const FILTER_OF_NEIGHBOURS = {
  same_host: 'SameHostFilter',
  different_host: 'DifferentHostFilter',
} as const

type Filtering = Pick<Cell, 'summary'>

const runs = (cells: readonly Filtering[], filter: string) =>
  cells.some((cell) => runsHostFilter(cell, filter))

/**
 * The optional filters of hosts that a cell must run for these hints. A server of before such a hint was refused may have a
 * `query` that no cell heeds: it goes to any.
 */
export function filtersOfHints(
  hints: Readonly<Record<string, unknown>>,
  cells: readonly Filtering[],
): readonly string[] {
  const promises = Object.entries(FILTER_OF_HINT).filter(([hint]) => hints[hint] !== undefined)
  return promises.flatMap(([hint, filter]) =>
    hint === 'query' && !runs(cells, filter) ? [] : [filter],
  )
}

/** Throws `invalid` for a hint of Nova's that no cell heeds: no server is better than one that is not what was asked for. */
export function refuseUnheededHints(
  hints: ServerRequest['hints'],
  cells: readonly Filtering[],
): void {
  for (const [hint, filter] of Object.entries(FILTER_OF_HINT)) {
    if (hints[hint] !== undefined && !runs(cells, filter)) throw unsupported(hint, filter)
  }
  for (const [hint, filter] of Object.entries(FILTER_OF_NEIGHBOURS)) {
    if (texts(hints[hint]).length > 0 && cells.length > 0 && !runs(cells, filter))
      throw unsupported(hint, filter)
  }
  if (hints['cidr'] !== undefined && hints['build_near_host_ip'] === undefined)
    throw new Failure(
      'invalid',
      "Scheduler hint 'cidr' has no effect by itself: it is the network of 'build_near_host_ip'.",
    )
}

function unsupported(hint: string, filter: string): Failure {
  return new Failure(
    'invalid',
    `Scheduler hint '${hint}' is not supported: no cell runs the ${filter}.`,
  )
}

function texts(hint: unknown): string[] {
  return [hint].flat().filter((text): text is string => typeof text === 'string' && text !== '')
}
