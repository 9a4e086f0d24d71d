import type { Executor } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { ApiStatus } from '#common/states/instance-states.ts'
import { cellsWithHost } from '../../db/host-index.ts'
import type { ServerCondition } from '../../db/server-conditions.ts'
import { isServerListed, listServerPage } from '../../db/server-list.ts'
import type { Caller } from '../request-context.ts'
import { statesOf } from '../servers/list/list-states.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'
import { foundIdOf } from './named.ts'

export interface OperatedServerQuery {
  readonly cellId?: string | undefined
  /** A name. */
  readonly host?: string | undefined
  /** An id or name; with an external Keystone an id, because projects are not looked up there. */
  readonly project?: string | undefined
  readonly status?: ApiStatus | undefined
  readonly limit: number
  /** The id of the last server of the page before. */
  readonly cursor?: string | undefined
}

export interface OperatedServerPage {
  readonly servers: readonly ServerRecord[]
  /** Where the next page begins; null when this is the last. */
  readonly next: string | null
}

const NEWEST_FIRST = [{ key: 'created_at', isDescending: true }] as const

/**
 * Servers of every project that are not deleted, the newest first. Throws `invalid` for a cursor that no page gave,
 * and `not-found` for a host or project that does not exist and has no servers either: hosts and projects may have
 * been removed before their servers.
 */
export async function operatedServerPage(
  db: Executor,
  caller: Pick<Caller, 'isExternal'>,
  query: OperatedServerQuery,
): Promise<OperatedServerPage> {
  const { limit, cursor, host } = query
  if (cursor !== undefined && !(isUuid(cursor) && (await isServerListed(db, cursor, []))))
    throw new Failure('invalid', `Invalid cursor '${cursor}': take it from the page before.`)
  const project = caller.isExternal ? query.project : await projectIdOf(db, query.project)
  const found = await listServerPage(db, {
    conditions: conditionsOf({ ...query, project }),
    order: NEWEST_FIRST,
    marker: cursor,
    limit: limit + 1,
  })
  if (found.length === 0 && host !== undefined) await requireHost(db, host)
  const servers = found.slice(0, limit).map(({ server }) => server)
  return { servers, next: found.length > limit ? (servers.at(-1)?.id ?? null) : null }
}

async function projectIdOf(
  db: Executor,
  idOrName: string | undefined,
): Promise<string | undefined> {
  if (idOrName === undefined) return undefined
  try {
    return await foundIdOf(db, 'project', idOrName)
  } catch (error) {
    if (isFailure(error, 'not-found') && (await hasServers(db, 'project', idOrName)))
      return idOrName
    throw error
  }
}

async function requireHost(db: Executor, name: string): Promise<void> {
  const isKnown = (await cellsWithHost(db, name)).size > 0 || (await hasServers(db, 'host', name))
  if (!isKnown) throw new Failure('not-found', `There is no host ${name}.`)
}

async function hasServers(
  db: Executor,
  field: 'host' | 'project',
  value: string,
): Promise<boolean> {
  const conditions = equal(field, value)
  const found = await listServerPage(db, {
    conditions,
    order: NEWEST_FIRST,
    marker: undefined,
    limit: 1,
  })
  return found.length > 0
}

function conditionsOf(query: OperatedServerQuery): readonly ServerCondition[] {
  const { cellId, host, project, status } = query
  return [
    { is: 'deleted', value: false, withSoft: true },
    ...equal('cell', cellId),
    ...equal('host', host),
    ...equal('project', project),
    ...(status === undefined ? [] : [{ is: 'state', anyOf: statesOf([status]) } as const]),
  ]
}

function equal(
  field: 'cell' | 'host' | 'project',
  value: string | undefined,
): readonly ServerCondition[] {
  return value === undefined ? [] : [{ is: 'equal', field, anyOf: [value] }]
}
