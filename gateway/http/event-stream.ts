/** One message of a stream of server-sent events; without data it only says how far the stream has come. */
export interface StreamMessage {
  readonly id: string
  readonly event?: string
  readonly data?: unknown
}

/** After so long a client that was cut off comes back. */
const RETRY_MS = 1_000

export const EVENT_STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  // nginx passes an answer on as it comes only when told so.
  'X-Accel-Buffering': 'no',
} as const

/** True where a client asks for a stream rather than a page. */
export function wantsEventStream(accept: string | undefined): boolean {
  return accept?.includes('text/event-stream') === true
}

/** The body of a stream: the next messages are made when the client has taken the last. `left` is called when it goes. */
export function eventStream(
  batches: AsyncGenerator<readonly StreamMessage[]>,
  left: () => void,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n\n`)),
      pull: async (controller) => {
        const { value, done } = await batches.next()
        if (done === true) return controller.close()
        controller.enqueue(encoder.encode(value.map(textOf).join('')))
      },
      cancel: left,
    },
    { highWaterMark: 0 },
  )
}

/** As the HTML standard writes it (§9.2.6); JSON has no line breaks of its own. */
function textOf({ id, event, data }: StreamMessage): string {
  const lines = [
    `id: ${id}`,
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(data === undefined ? [] : [`data: ${JSON.stringify(data)}`]),
  ]
  return `${lines.join('\n')}\n\n`
}
