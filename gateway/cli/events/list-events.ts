import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, isFailure } from '#common/errors.ts'
import type { operations } from '#openapi/federation.gen.ts'
import { type KeptSession, keepSession } from '../cloud/kept-session.ts'
import type { Session } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'
import { styleFor } from '../output/style.ts'
import { rendered } from '../output/view.ts'
import { findServer } from '../servers/find-server.ts'
import { type Event, eventsView } from './event-line.ts'
import { readEvents } from './read-events.ts'

export interface EventOptions extends ViewOptions {
  readonly follow?: true
  readonly limit: number
  readonly server?: string
  readonly volume?: string
  readonly cell?: string
  readonly project?: string
  readonly host?: string
  readonly request?: string
  /** An instant in ISO 8601. */
  readonly since?: string
  readonly type?: EventType
}

type Query = NonNullable<operations['listEvents']['parameters']['query']>
export type EventType = NonNullable<Query['type']>

/** The pause before the next request to a gateway that has ended the stream, or does not answer. */
const AGAIN_MS = 1_000

/**
 * Shows the newest events, the oldest first. With `follow` it continues until it is interrupted and skips no event,
 * also when the gateway was away in between. JSON then has one event a line.
 */
export async function listEvents(operator: Operator, options: EventOptions): Promise<void> {
  const within = await keepSession(operator, options)
  const query = await within((session) => queryOf(session, options))
  const page = await within(({ federation }) =>
    federation.ask('get', '/v1/events', { query: { ...query, limit: options.limit } }),
  )
  await write(operator, options, page.events)
  if (options.follow !== true) return
  const more = (after: string) => withRetries(operator, () => streamOf(within, query, after))
  for (let after = page.next; ; await sleep(AGAIN_MS)) {
    const stream = await more(after)
    if (stream === undefined) continue
    for await (const { events, upTo } of readEvents(stream, after)) {
      await write(operator, options, events)
      after = upTo
    }
  }
}

async function streamOf(within: KeptSession, query: Query, after: string) {
  const headers = { accept: 'text/event-stream', 'last-event-id': after }
  const { body } = await within(({ federation }) =>
    federation.open('get', '/v1/events', { query, headers }),
  )
  if (body !== null) return body
  throw new Failure('unavailable', 'The gateway sends no events.')
}

async function queryOf(session: Session, options: EventOptions): Promise<Query> {
  const { server, volume, cell, project, type, host, request, since } = options
  const id = server === undefined ? undefined : await findServer(session, server)
  const asked = { server: id, volume, cell, project, type, host, request, since }
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined))
}

/** Undefined where the gateway does not answer. */
async function withRetries<Result>(
  { err }: Operator,
  ask: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (!isFailure(error, 'unavailable')) throw error
    err.write(`weir: ${error.message}\n`)
    return undefined
  }
}

async function write(
  { out, env }: Operator,
  { follow, output }: EventOptions,
  events: readonly Event[],
): Promise<void> {
  if (follow === true && output === 'json') {
    for (const event of events) out.write(`${JSON.stringify(event)}\n`)
    return
  }
  const view = eventsView(events)
  if (follow !== true || events.length > 0)
    out.write(await rendered(view, output, styleFor(out, env)))
}
