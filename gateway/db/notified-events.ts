import { and, eq, inArray, like, lte, max, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import type { EventDetails } from './event-inbox.ts'
import { readEventState } from './events.ts'
import { events, notificationState } from './schema/events.ts'
import { serverActions } from './schema/servers.ts'

const STATE_ID = 1

/**
 * The number of the last event whose notifications were sent. Where none ever were, afterwards they are sent from the
 * event after `last` on.
 */
export async function notifiedUpTo(db: Executor, last: number): Promise<number> {
  const [state] = await db.orm.select().from(notificationState)
  if (state !== undefined) return state.upTo
  await db.orm
    .insert(notificationState)
    .values({ id: STATE_ID, upTo: last })
    .onDuplicateKeyUpdate({ set: { id: STATE_ID } })
  return last
}

/** How many events wait to be looked at for notifications. */
export async function unsentEvents(db: Executor): Promise<number> {
  const { last } = await readEventState(db)
  const [state] = await db.orm.select().from(notificationState)
  return Math.max(last - (state?.upTo ?? last), 0)
}

/** Afterwards the events up to a number were sent. False when another gateway has changed it meanwhile. */
export async function advanceNotifications(
  db: Executor,
  from: number,
  to: number,
): Promise<boolean> {
  const [result] = await db.orm
    .update(notificationState)
    .set({ upTo: to })
    .where(and(eq(notificationState.id, STATE_ID), eq(notificationState.upTo, from)))
  return result.affectedRows === 1
}

const SAVING: ReadonlySet<string> = new Set(['createImage', 'createBackup'])

/** An action on a server, and who asked for it. */
export interface RequestedAction {
  readonly serverId: string
  readonly requestId: string
  readonly action: string
  readonly userId: string | null
  readonly projectId: string
  /** Absent: it saves no disk as an image. */
  readonly imageId?: string
}

/** The actions of these servers and requests, the oldest first. */
export async function requestedActions(
  db: Executor,
  serverIds: readonly string[],
  requestIds: readonly string[],
): Promise<readonly RequestedAction[]> {
  if (serverIds.length === 0 || requestIds.length === 0) return []
  const actions = await db.orm
    .select({
      serverId: serverActions.serverId,
      requestId: serverActions.requestId,
      action: serverActions.action,
      userId: serverActions.userId,
      projectId: serverActions.projectId,
    })
    .from(serverActions)
    .where(
      and(
        inArray(serverActions.serverId, [...serverIds]),
        inArray(serverActions.requestId, [...requestIds]),
      ),
    )
    .orderBy(serverActions.startedAt)
  const isSaving = actions.some(({ action }) => SAVING.has(action))
  const images = isSaving ? await savedImages(db, serverIds) : []
  return actions.map((action) => {
    const { serverId, requestId } = action
    const saved = images.find((each) => {
      return each.serverId === serverId && each.requestId === requestId
    })
    return { ...action, ...(saved?.imageId !== undefined && { imageId: saved.imageId }) }
  })
}

/** The images that actions on these servers are to make, by the events of the actions. */
async function savedImages(db: Executor, serverIds: readonly string[]) {
  const rows = await db.orm
    .select({ serverId: events.serverId, details: events.details })
    .from(events)
    .where(
      and(
        inArray(events.serverId, [...serverIds]),
        eq(events.type, 'server.action'),
        like(events.details, '%"imageId"%'),
      ),
    )
  return rows.map(({ serverId, details }) => {
    const { requestId, imageId } = JSON.parse(details) as EventDetails
    return { serverId, requestId, imageId }
  })
}

/** What servers were said to be by the last event up to a number; servers without one are absent. */
export async function statesUpTo(
  db: Executor,
  serverIds: readonly string[],
  n: number,
): Promise<ReadonlyMap<string, EventDetails>> {
  if (serverIds.length === 0) return new Map()
  const ofServers = and(
    inArray(events.serverId, [...serverIds]),
    eq(events.type, 'server.state'),
    lte(events.n, n),
  )
  const last = db.orm
    .select({ n: max(events.n).as('last_n') })
    .from(events)
    .where(ofServers)
    .groupBy(events.serverId)
    .as('newest')
  const rows = await db.orm
    .select({ serverId: events.serverId, details: events.details })
    .from(events)
    .innerJoin(last, eq(events.n, sql`${last.n}`))
  return new Map(
    rows.map(({ serverId, details }) => [serverId!, JSON.parse(details) as EventDetails]),
  )
}
