import { createParser } from 'eventsource-parser'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { Cloud } from '../cloud/cloud.ts'

export interface EventListener {
  /** All events up to this one have been delivered; a later stream may continue after it. */
  readonly at: (eventId: string) => void
  /** Something has happened to this server. */
  readonly changed: (serverId: string) => void
}

/** A Weir gives a sign of life every ten seconds. */
const IDLE_TIMEOUT_MS = 30_000
const LINE_MAX = 65_536

/**
 * Yields the events of the project's servers in a Weir below, after an event or from now on, until the stream ends,
 * which it does now and then. Throws `unsupported` where there are no events, `not-found` when those after `after`
 * are gone, `unavailable` when the stream breaks.
 */
export async function readServerEvents(
  cloud: Cloud,
  after: string | undefined,
  listener: EventListener,
  signal: AbortSignal,
): Promise<void> {
  const stream = await cloud.open('federation', '/events', {
    query: { type: 'server' },
    headers: {
      accept: 'text/event-stream',
      ...(after === undefined ? {} : { 'last-event-id': after }),
    },
    idleTimeoutMs: IDLE_TIMEOUT_MS,
    signal,
  })
  const parser = createParser({
    maxBufferSize: LINE_MAX,
    onId: listener.at,
    onEvent: ({ data }) => {
      const { server_id: serverId } = JSON.parse(data) as { readonly server_id?: unknown }
      if (typeof serverId === 'string' && isUuid(serverId)) listener.changed(serverId)
    },
    onError: (cause) => {
      throw cause
    },
  })
  const decoder = new TextDecoder()
  try {
    for await (const chunk of stream) parser.feed(decoder.decode(chunk, { stream: true }))
  } catch (cause) {
    signal.throwIfAborted()
    throw new Failure('unavailable', 'The event stream of the nested cloud ended.', { cause })
  }
}
