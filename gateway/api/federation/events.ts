import { isDeepStrictEqual } from 'node:util'
import { isFailure } from '#common/errors.ts'
import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell } from '../../app/cells/operated-cells.ts'
import {
  type EventQuery,
  eventPage,
  type VisibleEvents,
  visibleEvents,
} from '../../app/events/event-page.ts'
import { followEvents } from '../../app/events/follow-events.ts'
import { isAllowed } from '../../app/policy.ts'
import { tokenOf } from '../../http/authenticate.ts'
import {
  EVENT_STREAM_HEADERS,
  eventStream,
  type StreamMessage,
  wantsEventStream,
} from '../../http/event-stream.ts'
import { HttpRefusal } from '../../http/http-refusal.ts'
import type { Answer, Call, Handler } from '../../http/operation.ts'
import { eventView } from '../../views/federation/event.ts'

const RULE = 'federation:events:list'
const LIMIT = 100
const NUMBER = /^\d{1,15}$/

/** GET /v1/events */
export const listEvents: Handler<operations['listEvents']> = async (call) => {
  const { app, context, query, raw } = call
  const { project: projectId, server: serverId, volume: volumeId, type, host } = query
  // Those who may not ask for a cell's events must not learn which cells there are.
  const since = query.since === undefined ? undefined : new Date(query.since)
  const { cell: inCell, request: requestId } = query
  const wanted = { projectId, serverId, volumeId, cellId: inCell, type, host, requestId, since }
  const asked = visibleEvents(context, wanted)
  const cellId =
    asked.cellId === undefined
      ? undefined
      : (await findOperatedCell(app.db, app.compute.cells, asked.cellId)).id
  const filter = { ...asked, cellId }
  if (wantsEventStream(raw.header('accept')))
    return streamed(call, filter, () => mayStillSee(call, wanted, asked))
  const { after, limit = LIMIT } = query
  const page = await eventPage(app.db, filter, after === undefined ? after : Number(after), limit)
  if (page.isGone) throw gone()
  const events = page.events.map((event) => eventView(event, context))
  return { body: { events, next: String(page.next) } }
}

/** True while the token is valid, and its holder sees what was asked for, no more and no less. */
async function mayStillSee(
  { app, raw }: Call<operations['listEvents']>,
  wanted: EventQuery,
  asked: VisibleEvents,
): Promise<boolean> {
  try {
    const caller = await app.verifier.callerOf(tokenOf(raw.header) ?? '')
    if (caller === undefined || !isAllowed(caller, RULE)) return false
    return isDeepStrictEqual(visibleEvents(caller, wanted), asked)
  } catch (error) {
    if (isFailure(error, 'forbidden', 'unavailable')) return false
    throw error
  }
}

async function streamed(
  call: Call<operations['listEvents']>,
  filter: VisibleEvents,
  mayGoOn: () => Promise<boolean>,
): Promise<Answer> {
  const { app, context, query, raw } = call
  const last = raw.header('last-event-id') ?? query.after
  const after = last !== undefined && NUMBER.test(last) ? Number(last) : undefined
  if (after !== undefined && (await eventPage(app.db, filter, after, 1)).isGone) throw gone()
  const left = new AbortController()
  const watcher = app.events.watch(
    context.projectId ?? context.userId,
    AbortSignal.any([raw.signal(), left.signal]),
  )
  const followed = followEvents(app.compute, watcher, filter, after, mayGoOn)
  const messages = async function* (): AsyncGenerator<readonly StreamMessage[]> {
    try {
      for await (const { events, upTo } of followed)
        yield [
          ...events.map((event) => ({
            id: String(event.n),
            event: event.type,
            data: eventView(event, context),
          })),
          { id: String(upTo) },
        ]
    } finally {
      watcher.end()
    }
  }
  const stream = eventStream(messages(), () => left.abort())
  return { stream, headers: EVENT_STREAM_HEADERS }
}

function gone(): HttpRefusal {
  return new HttpRefusal(
    410,
    'The events after this one are no longer stored. Leave the event out for new events, or use 0 for all stored events.',
  )
}
