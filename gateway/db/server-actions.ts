import { and, eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import type { ActionEvent } from '#openapi/wire/feed.ts'
import { type NewEvent, queueEvents } from './event-inbox.ts'
import { serverActionEvents, serverActions } from './schema/servers.ts'
import { ascii } from './server-attempts.ts'

/** One request that changes a server, as `server event list` shows it. */
export interface ServerAction {
  readonly serverId: string
  readonly requestId: string
  /** Nova's name: create, delete, start, stop, reboot, pause, unpause. */
  readonly action: string
  readonly projectId: string
  /** Null: no user asked for it, its cell began it. */
  readonly userId: string | null
  /** Null: it did not fail. */
  readonly message: string | null
  /** That is attached or detached. */
  readonly volumeId?: string
  /** That the disk is to be saved as. */
  readonly imageId?: string
}

const now = sql`now(3)`

const INSERT = rowsInsert(
  serverActions,
  ['serverId', 'requestId', 'action', 'projectId', 'userId', 'message'],
  {
    fixed: { startedAt: now, updatedAt: now },
    onDuplicate: sql`message = coalesce(values(message), message), updated_at = ${now}`,
  },
)

const INSERT_EVENTS = rowsInsert(
  serverActionEvents,
  [
    'serverId',
    'requestId',
    'event',
    'startedAt',
    'finishedAt',
    'result',
    'cellId',
    'host',
    'details',
  ],
  {
    onDuplicate: sql`finished_at = coalesce(values(finished_at), finished_at),
      result = coalesce(values(result), result),
      host = coalesce(values(host), host),
      details = coalesce(values(details), details)`,
  },
)

const FAIL = sqlStatement(sql`
  update json_table(${sql.placeholder('events')}, '$[*]' columns (
    server_id ${ascii(36)} path '$.serverId', request_id ${ascii(64)} path '$.requestId')) v
  straight_join server_actions a on a.server_id = v.server_id and a.request_id = v.request_id
  set a.message = 'Error', a.updated_at = now(3)`)

/** Adds actions, with their events; of a known action only the failure and its time are new. */
export function queueActions(tx: Tx, actions: readonly ServerAction[]): void {
  INSERT.queue(tx, actions)
  queueEvents(
    tx,
    actions.map(({ serverId, requestId, userId, action, message, volumeId, imageId }) => ({
      type: 'server.action',
      serverId,
      details: {
        ...{ requestId, userId, action, message },
        ...(message !== null && FAILED),
        ...(volumeId !== undefined && { volumeId }),
        ...(imageId !== undefined && { imageId }),
      },
    })),
  )
}

/** Whether the request has acted on the server. */
export async function hasAction(
  db: Executor,
  serverId: string,
  requestId: string,
): Promise<boolean> {
  const ofRequest = eq(serverActions.requestId, requestId)
  const rows = await db.orm
    .select({ requestId: serverActions.requestId })
    .from(serverActions)
    .where(and(eq(serverActions.serverId, serverId), ofRequest))
    .limit(1)
  return rows.length > 0
}

const FAILED = { result: 'error' } as const

/** An action that has ended without a host that reports its steps. */
export interface EndedAction
  extends Pick<ServerAction, 'serverId' | 'requestId' | 'action' | 'volumeId'> {
  readonly result: 'success' | 'error'
}

/** Tells of the end in an event, as of a step that Nova calls so. */
export function queueActionEnd(
  tx: Tx,
  { serverId, requestId, action, volumeId, result }: EndedAction,
): void {
  const ofVolume = volumeId !== undefined && { volumeId }
  const details = { requestId, action: `compute_${action}`, result, ...ofVolume }
  queueEvents(tx, [{ type: 'server.step', serverId, details }])
}

/**
 * Adds steps of actions, or their ends, with events for the ends; the cell is the one that reports them, null for the
 * gateway itself. At most one per server, request, event and start.
 */
export function queueActionEvents(
  tx: Tx,
  cellId: CellId | null,
  events: readonly ActionEvent[],
): void {
  const rows = events.map((event) => ({
    ...event,
    cellId,
    startedAt: new Date(event.startedAt),
    finishedAt: event.finishedAt === null ? null : new Date(event.finishedAt),
  }))
  INSERT_EVENTS.queue(tx, rows)
  queueEvents(tx, events.flatMap(ended))
  // An action one of whose steps failed has failed (nova: `action_event_finish`).
  const failed = rows.filter(({ result }) => result === 'Error')
  if (failed.length > 0) tx.queue(FAIL, { events: JSON.stringify(failed) })
}

function ended({ serverId, requestId, event, result, host, details }: ActionEvent): NewEvent[] {
  if (result === null) return []
  const step = { requestId, action: event, host, message: details }
  const outcome = result === 'Error' ? 'error' : 'success'
  return [{ type: 'server.step', serverId, details: { ...step, result: outcome } }]
}
