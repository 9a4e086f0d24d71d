import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { ApiStatus } from '#common/states/instance-states.ts'
import type { ServerCondition } from '../../db/server-conditions.ts'
import { isServerListed, listServerPage } from '../../db/server-list.ts'
import { statesOf } from '../servers/list/list-states.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'

export interface OperatedServerQuery {
  readonly cellId?: string | undefined
  /** A name. */
  readonly host?: string | undefined
  readonly projectId?: string | undefined
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

/** Servers of every project that are not deleted, the newest first. Throws `invalid` for a cursor that no page gave. */
export async function operatedServerPage(
  db: Executor,
  query: OperatedServerQuery,
): Promise<OperatedServerPage> {
  const { limit, cursor } = query
  if (cursor !== undefined && !(isUuid(cursor) && (await isServerListed(db, cursor, []))))
    throw new Failure('invalid', `Invalid cursor '${cursor}': take it from the page before.`)
  const found = await listServerPage(db, {
    conditions: conditionsOf(query),
    order: NEWEST_FIRST,
    marker: cursor,
    limit: limit + 1,
  })
  const servers = found.slice(0, limit).map(({ server }) => server)
  return { servers, next: found.length > limit ? (servers.at(-1)?.id ?? null) : null }
}

function conditionsOf(query: OperatedServerQuery): readonly ServerCondition[] {
  const { cellId, host, projectId, status } = query
  return [
    { is: 'deleted', value: false, withSoft: true },
    ...equal('cell', cellId),
    ...equal('host', host),
    ...equal('project', projectId),
    ...(status === undefined ? [] : [{ is: 'state', anyOf: statesOf([status]) } as const]),
  ]
}

function equal(
  field: 'cell' | 'host' | 'project',
  value: string | undefined,
): readonly ServerCondition[] {
  return value === undefined ? [] : [{ is: 'equal', field, anyOf: [value] }]
}
