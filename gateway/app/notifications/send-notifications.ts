import type { Clock } from '#common/clock.ts'
import type { Transactional } from '#common/db/database.ts'
import type { Logger } from '#common/log.ts'
import type { Reconciler } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import type { EventType } from '../../db/event-inbox.ts'
import { type EventState, eventsAfter, readEventState } from '../../db/events.ts'
import { advanceNotifications, notifiedUpTo } from '../../db/notified-events.ts'
import { eventSubjects } from './event-subjects.ts'
import type { NotificationSink } from './notification.ts'
import { notificationsOf } from './notification-of.ts'

export interface NotificationOptions {
  readonly db: Transactional
  readonly clock: Clock
  readonly log: Logger
  readonly sink: NotificationSink
  /** Stable over restarts of this gateway process, and no other's. */
  readonly processName: string
}

/** For events that other gateways have numbered. */
const EVERY_MS = 1_000
const LEASE_NAME = 'notifications'
const LEASE_TTL_MS = 5_000
const PAGE = 100
const TYPES: readonly EventType[] = [
  'server.action',
  'server.step',
  'server.state',
  'server.deleted',
  'host.state',
  'flavor.changed',
  'keypair.changed',
  'aggregate.changed',
  'server-group.changed',
]

/**
 * Sends Nova's notifications of what happens to servers, to hosts, and to what servers are made with, one after another in the order of their events, from
 * one gateway at a time. An event is recorded as sent after it was, so a notification may come again, and none is left
 * out while its event is kept.
 */
export function sendNotifications(options: NotificationOptions): Reconciler {
  const { db, clock, log, processName: holder } = options
  const lease = new HeldLease(db, clock, { name: LEASE_NAME, holder, ttlMs: LEASE_TTL_MS })
  return {
    name: 'notifications',
    everyMs: EVERY_MS,
    round: async (signal) => {
      const state = await readEventState(db)
      const from = await notifiedUpTo(db, state.last)
      if (from === state.last) return { sent: 0 }
      if ((await lease.hold()) === undefined) return { sent: 0 }
      const mayGoOn = async () => !signal.aborted && (await lease.keep())
      const begin = await afterGap(options, from, state)
      let sent = 0
      for (let upTo: number | undefined = begin; upTo !== undefined && upTo < state.last; ) {
        const page = await sendPage(options, upTo, state.last, mayGoOn)
        sent += page.sent
        upTo = page.upTo
      }
      if (sent > 0) log.debug({ sent }, 'notifications sent')
      return { sent }
    },
  }
}

/** Where to go on. Events that were purged before they were sent, or that another life of the database had, are passed over. */
async function afterGap(
  { db, log }: NotificationOptions,
  from: number,
  { last, removed }: EventState,
): Promise<number> {
  const to = from > last ? last : Math.max(from, removed)
  if (to === from || !(await advanceNotifications(db, from, to))) return from
  if (to > from)
    log.error({ events: to - from }, 'events were purged before their notifications were sent')
  return to
}

/** `upTo`: the last event that is recorded as sent; undefined: another gateway sends. */
async function sendPage(
  { db, sink, processName }: NotificationOptions,
  from: number,
  last: number,
  mayGoOn: () => Promise<boolean>,
): Promise<{ readonly sent: number; readonly upTo: number | undefined }> {
  const page = await eventsAfter(db, from, { types: TYPES }, PAGE)
  let reached = from
  let sent = 0
  try {
    for (const subject of await eventSubjects(db, page)) {
      if (!(await mayGoOn())) break
      for (const addressed of notificationsOf(subject, processName)) {
        await sink.send(addressed)
        sent += 1
      }
      reached = subject.event.n
    }
    const isAll = page.length < PAGE && reached === (page.at(-1)?.n ?? from)
    if (isAll) reached = Math.max(reached, last)
  } finally {
    if (reached > from && !(await advanceNotifications(db, from, reached))) reached = from
  }
  return { sent, upTo: reached > from ? reached : undefined }
}
