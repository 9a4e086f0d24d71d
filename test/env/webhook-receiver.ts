import { createHmac, timingSafeEqual } from 'node:crypto'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface ReceivedEvent {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly event: {
    readonly id: string
    readonly type: string
    readonly server_id: string
    readonly volume_id: string | null
    readonly action: string | null
    readonly state: string | null
  }
}

/** How a receiver answers; the answer may wait. */
export type AnswerEvent = (event: ReceivedEvent, response: ServerResponse) => void | Promise<void>

/** A server at loopback that takes events, and keeps those that came. */
export class WebhookReceiver implements AsyncDisposable {
  readonly url: string
  readonly received: ReceivedEvent[] = []
  readonly #close: () => Promise<void>

  private constructor(port: number, close: () => Promise<void>) {
    this.url = `http://127.0.0.1:${port}/events`
    this.#close = close
  }

  static async open(answer: AnswerEvent = (_, response) => taken(response)) {
    const take = async (request: IncomingMessage, response: ServerResponse) => {
      const body = await text(request)
      const event = JSON.parse(body) as ReceivedEvent['event']
      const received = { headers: request.headers, body, event }
      receiver.received.push(received)
      await answer(received, response)
    }
    const server = createServer((request, response) => void take(request, response))
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    const receiver = new WebhookReceiver((server.address() as AddressInfo).port, async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
    return receiver
  }

  /** What was received, by the actions of the events. */
  get actions(): readonly (string | null)[] {
    return this.received.map(({ event }) => event.action)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close()
  }
}

export function taken(response: ServerResponse): void {
  response.writeHead(204).end()
}

/** True where the signature of a received event was made with this secret, as the how-to describes it. */
export function isSigned({ headers, body }: ReceivedEvent, secret: string): boolean {
  const signature = String(headers['weir-signature'])
  const [, time = ''] = /^t=(\d+),/.exec(signature) ?? []
  const wanted = createHmac('sha256', secret).update(`${time}.${body}`).digest()
  const given = [...signature.matchAll(/,v1=([0-9a-f]{64})/g)]
  return given.some(([, digest]) => timingSafeEqual(wanted, Buffer.from(digest!, 'hex')))
}
