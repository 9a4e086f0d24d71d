import { createParser } from 'eventsource-parser'
import type { Event } from './event-line.ts'

/** Events, the oldest first, and the id to go on after once they were taken. */
export interface ReadEvents {
  readonly events: readonly Event[]
  readonly upTo: string
}

/** A gateway gives a sign of life every ten seconds. */
const IDLE_TIMEOUT_MS = 30_000
const BROKEN_OFF = { done: true, value: undefined } as const

/**
 * The events of a stream after `after`, until it ends, breaks off or sends nothing for too long. A reader that asks
 * again for events after the last `upTo` gets none twice and misses none.
 */
export async function* readEvents(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  after: string,
): AsyncGenerator<ReadEvents> {
  let events: Event[] = []
  let upTo = after
  let begun = after
  const parser = createParser({
    // A message with an id may still break off before its data: only the next message shows that it was complete.
    onId: (id) => {
      upTo = begun
      begun = id
    },
    onEvent: ({ id = upTo, data }) => {
      events.push(JSON.parse(data) as Event)
      upTo = id
    },
  })
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  const silence = setTimeout(() => void reader.cancel(), IDLE_TIMEOUT_MS)
  try {
    for (;;) {
      const { value, done } = await reader.read().catch(() => BROKEN_OFF)
      if (done) return
      silence.refresh()
      parser.feed(value)
      yield { events, upTo }
      events = []
    }
  } finally {
    clearTimeout(silence)
    await reader.cancel().catch(() => {})
  }
}
