import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import {
  type ActionPageQuery,
  findAction,
  listActionEvents,
  listActions,
  type RecordedAction,
  type RecordedEvent,
} from '../../../db/server-action-list.ts'
import { parseIsoTime } from '../../iso-time.ts'
import type { Requester } from '../../requester.ts'
import { findVisibleServer } from '../list/show-server.ts'

export interface ActionListQuery {
  /** The request id of the last action of the page before. */
  readonly marker?: string
  readonly 'changes-since'?: string
  readonly 'changes-before'?: string
}

export interface ActionScope {
  readonly serverId: string
  /** Since microversion 2.21 what was done to a server can be read after it is gone. */
  readonly includesDeleted: boolean
}

/** One page of what was done to a server, newest first. Throws `not-found`, and `invalid` for times and markers. */
export async function listServerActions(
  db: Executor,
  requester: Requester,
  { serverId, includesDeleted }: ActionScope,
  query: ActionListQuery & { readonly limit: number },
): Promise<readonly RecordedAction[]> {
  await findVisibleServer(db, requester, serverId, includesDeleted)
  const page: ActionPageQuery = {
    serverId,
    limit: query.limit,
    since: timeOf(query, 'changes-since'),
    before: timeOf(query, 'changes-before'),
    marker: await markerOf(db, serverId, query.marker),
  }
  if (page.since !== undefined && page.before !== undefined && page.since > page.before)
    throw new Failure(
      'invalid',
      'The value of changes-since must be less than or equal to changes-before.',
    )
  return listActions(db, page)
}

/** One action and its steps. Throws `not-found`. */
export async function showServerAction(
  db: Executor,
  requester: Requester,
  { serverId, includesDeleted }: ActionScope,
  requestId: string,
): Promise<{ readonly action: RecordedAction; readonly events: readonly RecordedEvent[] }> {
  await findVisibleServer(db, requester, serverId, includesDeleted)
  const action = await findAction(db, serverId, requestId)
  if (action === undefined)
    throw new Failure(
      'not-found',
      `Action for request_id ${requestId} on instance ${serverId} not found`,
    )
  return { action, events: await listActionEvents(db, serverId, requestId) }
}

function timeOf(
  query: ActionListQuery,
  name: 'changes-since' | 'changes-before',
): Date | undefined {
  const text = query[name]
  return text === undefined ? undefined : parseIsoTime(text, name)
}

async function markerOf(
  db: Executor,
  serverId: string,
  marker: string | undefined,
): Promise<RecordedAction | undefined> {
  if (marker === undefined) return undefined
  const action = await findAction(db, serverId, marker)
  if (action === undefined) throw new Failure('invalid', `marker [${marker}] not found`)
  return action
}
