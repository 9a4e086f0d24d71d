import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { Agent, request } from 'undici'

/** The end of a request that does not reach S3 whole, or whose answer does not come back whole. */
export type S3Fault =
  | { readonly do: 'answer'; readonly status: number; readonly code: string }
  /** The request is swallowed. */
  | { readonly do: 'hang' }
  /** A byte of the body is another one when it arrives. */
  | { readonly do: 'change' }
  /** The answer breaks off after so many bytes. */
  | { readonly do: 'break'; readonly afterBytes: number }
  /** S3 does it, and the answer is lost. */
  | { readonly do: 'lose' }

export interface S3Seen {
  readonly method: string
  readonly url: string
}

const EMPTY = createHash('sha256').update('').digest('hex')

/**
 * The wire in front of an S3, on which a test makes requests fail. As Amazon's S3 does, and small ones for tests do not, it
 * refuses a body that has not the SHA-256 it was signed with, and shows no object that is half written.
 */
export class S3Front implements AsyncDisposable {
  readonly url: string
  /** Every request, in the order they came. */
  readonly seen: S3Seen[] = []
  /** Bytes of bodies that came back. */
  answeredBytes = 0
  readonly #server: Server
  readonly #agent = new Agent()
  /** The last change of each path; the next request of the path waits for it. */
  readonly #changes = new Map<string, Promise<unknown>>()
  #fault: (request: S3Seen) => S3Fault | undefined = () => undefined

  private constructor(server: Server, url: string) {
    this.#server = server
    this.url = url
  }

  /** `behind` is the endpoint of the S3. */
  static async open(behind: string): Promise<S3Front> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const front = new S3Front(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    server.on('request', (request, response) => {
      front.#pass(behind, request, response).catch(() => response.destroy())
    })
    return front
  }

  /** From now on requests fail as `fault` decides for each; undefined: it passes. */
  fail(fault: (request: S3Seen) => S3Fault | undefined): void {
    this.#fault = fault
  }

  /** The next request that `isMeant` fails; those after it pass. */
  failOnce(fault: S3Fault, isMeant: (request: S3Seen) => boolean = () => true): void {
    this.fail((seen) => {
      if (!isMeant(seen)) return undefined
      this.heal()
      return fault
    })
  }

  heal(): void {
    this.#fault = () => undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
    await this.#agent.destroy()
  }

  async #pass(behind: string, from: IncomingMessage, to: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = from
    this.seen.push({ method, url })
    const fault = this.#fault({ method, url })
    const body = await buffer(from)
    if (fault?.do === 'hang') return
    if (fault?.do === 'answer') return answerError(to, fault.status, fault.code)
    if (fault?.do === 'change' && body.length > 0) body[0] = (body[0] ?? 0) ^ 1
    const isPresigned = url.includes('X-Amz-Signature=')
    if (!isPresigned && (headers['x-amz-content-sha256'] ?? EMPTY) !== sha256Of(body))
      return answerError(to, 400, 'XAmzContentSHA256Mismatch')
    const answer = await this.#inTurn(method, url, () =>
      request(behind + url, {
        dispatcher: this.#agent,
        method: method as 'GET',
        headers: passedOn(headers),
        ...(method === 'PUT' || method === 'POST' ? { body } : {}),
      }),
    )
    if (fault?.do === 'lose') {
      await answer.body.dump()
      to.destroy()
      return
    }
    to.writeHead(answer.statusCode, passedOn(answer.headers))
    let left = fault?.do === 'break' ? fault.afterBytes : Number.POSITIVE_INFINITY
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      const part = chunk.subarray(0, left)
      left -= part.length
      this.answeredBytes += part.length
      await new Promise((resolve) => to.write(part, resolve))
      if (left > 0) continue
      to.destroy()
      return
    }
    to.end()
  }

  async #inTurn<T>(method: string, url: string, ask: () => Promise<T>): Promise<T> {
    const [path = ''] = url.split('?')
    const before = this.#changes.get(path) ?? Promise.resolve()
    const answer = before.then(ask)
    if (method !== 'GET' && method !== 'HEAD')
      this.#changes.set(
        path,
        answer.catch(() => undefined),
      )
    return answer
  }
}

function answerError(to: ServerResponse, status: number, code: string): void {
  to.writeHead(status, { 'content-type': 'application/xml' })
  to.end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`)
}

function passedOn(headers: Readonly<Record<string, string | string[] | undefined>>) {
  const { connection: _1, 'transfer-encoding': _2, 'keep-alive': _3, ...others } = headers
  return others as Record<string, string | string[]>
}

function sha256Of(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex')
}
