import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { EVENT_TYPES } from '../../db/event-inbox.ts'
import {
  type EventFilter,
  eventsAfter,
  eventsUpTo,
  type KeptEvent,
  readEventState,
} from '../../db/events.ts'
import type { Requester } from '../requester.ts'

/** The filters of a request for events. */
export interface EventQuery {
  readonly projectId?: string | undefined
  readonly serverId?: string | undefined
  readonly volumeId?: string | undefined
  readonly cellId?: string | undefined
  /** A type, or what several begin with. */
  readonly type?: string | undefined
  /** The name of a host. */
  readonly host?: string | undefined
  readonly requestId?: string | undefined
  /** From this time on. */
  readonly since?: Date | undefined
}

/** `next`: the number to go on after. `isGone`: events after the number asked for are purged, so none are returned. */
export interface EventPage {
  readonly events: readonly KeptEvent[]
  readonly next: number
  readonly isGone: boolean
}

/** The events a requester may see. */
export type VisibleEvents = EventFilter

/** The events a requester may see of those asked for. Throws `forbidden` for those of others. */
export function visibleEvents(requester: Requester, query: EventQuery): VisibleEvents {
  const { projectId, serverId, volumeId, cellId, type, host, requestId, since } = query
  const types =
    type === undefined
      ? undefined
      : EVENT_TYPES.filter((each) => each === type || each.startsWith(`${type}.`))
  const among = { serverId, volumeId, cellId, types, host, requestId, since }
  if (requester.isAdmin) return { projectId, ...among }
  const isForeign = projectId !== undefined && projectId !== requester.projectId
  const isOfPlace = cellId !== undefined || host !== undefined
  if (isForeign || isOfPlace || requester.projectId === null)
    throw new Failure(
      'forbidden',
      'Only administrators see the events of other projects, of cells and of hosts.',
    )
  return { projectId: requester.projectId, ...among }
}

/**
 * At most `max` events after a number, or the newest there are when it is undefined. Numbers from another life of the
 * database, beyond the highest given, are gone too.
 */
export async function eventPage(
  db: Executor,
  filter: EventFilter,
  after: number | undefined,
  max: number,
): Promise<EventPage> {
  // Read first: events that get a number meanwhile are for the next page.
  const { last, removed } = await readEventState(db)
  if (after === undefined)
    return { events: await eventsUpTo(db, last, filter, max), next: last, isGone: false }
  if (after > last || (after > 0 && after < removed))
    return { events: [], next: last, isGone: true }
  const events = await eventsAfter(db, after, filter, max)
  const next = events.length < max ? Math.max(last, events.at(-1)?.n ?? 0) : events.at(-1)!.n
  return { events, next, isGone: false }
}
