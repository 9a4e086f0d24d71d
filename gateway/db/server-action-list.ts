import { and, asc, eq, gte, lte, type SQL, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { after, orderOf, type SortColumn } from './keyset.ts'
import { serverActionEvents, serverActions } from './schema/servers.ts'

/** One request that changed a server, as it is kept. */
export interface RecordedAction {
  readonly serverId: string
  readonly requestId: string
  readonly action: string
  readonly projectId: string
  readonly userId: string | null
  /** Null: it did not fail. */
  readonly message: string | null
  readonly startedAt: Date
  readonly updatedAt: Date
}

export interface RecordedEvent {
  readonly event: string
  readonly startedAt: Date
  readonly finishedAt: Date | null
  readonly result: string | null
  readonly host: string | null
  readonly details: string | null
}

export interface ActionPageQuery {
  readonly serverId: string
  readonly limit: number
  readonly since: Date | undefined
  readonly before: Date | undefined
  /** The action the page starts after. */
  readonly marker: RecordedAction | undefined
}

/** Events shown of one action at most. */
const EVENTS_MAX = 1_000

const NEWEST_FIRST: readonly SortColumn[] = [
  { column: serverActions.startedAt, isDescending: true },
  { column: serverActions.requestId, isDescending: true },
  { column: serverActions.action, isDescending: true },
]

/** One page of the actions on a server, newest first. */
export async function listActions(
  db: Executor,
  { serverId, limit, since, before, marker }: ActionPageQuery,
): Promise<readonly RecordedAction[]> {
  return db.orm
    .select()
    .from(serverActions)
    .where(
      and(
        eq(serverActions.serverId, serverId),
        since && gte(serverActions.updatedAt, since),
        before && lte(serverActions.updatedAt, before),
        marker && startAfter(marker),
      ),
    )
    .orderBy(...orderOf(NEWEST_FIRST))
    .limit(limit)
}

function startAfter({ startedAt, requestId, action }: RecordedAction): SQL {
  const started = sql`${sql.param(startedAt, serverActions.startedAt)}`
  return after(NEWEST_FIRST, [started, requestId, action])
}

/** The first action of a request on a server. */
export async function findAction(
  db: Executor,
  serverId: string,
  requestId: string,
): Promise<RecordedAction | undefined> {
  const rows = await db.orm
    .select()
    .from(serverActions)
    .where(and(eq(serverActions.serverId, serverId), eq(serverActions.requestId, requestId)))
    .orderBy(asc(serverActions.startedAt))
    .limit(1)
  return rows[0]
}

/** The steps of a request on a server, as they began. */
export async function listActionEvents(
  db: Executor,
  serverId: string,
  requestId: string,
): Promise<readonly RecordedEvent[]> {
  return db.orm
    .select()
    .from(serverActionEvents)
    .where(
      and(eq(serverActionEvents.serverId, serverId), eq(serverActionEvents.requestId, requestId)),
    )
    .orderBy(asc(serverActionEvents.startedAt), asc(serverActionEvents.event))
    .limit(EVENTS_MAX)
}

/** The steps of the request that made a server, as they began. */
export async function listCreateEvents(
  db: Executor,
  serverId: string,
): Promise<readonly RecordedEvent[]> {
  const { requestId } = serverActionEvents
  const isCreate = and(
    eq(serverActions.serverId, serverId),
    eq(serverActions.requestId, requestId),
    eq(serverActions.action, 'create'),
  )
  const rows = await db.orm
    .select({ event: serverActionEvents })
    .from(serverActionEvents)
    .innerJoin(serverActions, isCreate)
    .where(eq(serverActionEvents.serverId, serverId))
    .orderBy(asc(serverActionEvents.startedAt), asc(serverActionEvents.event))
    .limit(EVENTS_MAX)
  return rows.map(({ event }) => event)
}
