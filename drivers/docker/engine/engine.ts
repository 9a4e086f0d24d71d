import type { Duplex, Readable } from 'node:stream'
import { Client, type Dispatcher, Pool } from 'undici'
import { Failure } from '#common/errors.ts'
import type { Endpoint } from './endpoint.ts'
import { engineFailure } from './engine-failure.ts'
import { negotiate } from './negotiate.ts'

export interface EngineRequest {
  readonly query?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: object
  /** Sent as a tar archive. */
  readonly archive?: Readable
  readonly signal: AbortSignal
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

const CONNECTIONS_MAX = 16

/**
 * A Docker engine's HTTP API, in the newest version that both sides speak. Every call throws `unavailable` when the
 * engine is away or breaks off, the signal's reason when aborted, and what `engineFailure` says for its refusals.
 */
export class Engine implements AsyncDisposable {
  /** The engine has this machine's clock. */
  readonly isLocal: boolean
  readonly #pool: Pool
  readonly #newConnection: () => Client
  #version: Promise<string> | undefined

  constructor({ origin, connect, isLocal }: Endpoint) {
    this.isLocal = isLocal
    // No timeouts of its own: stopping a container answers when it is off. Every call has a signal.
    const patient = { headersTimeout: 0, bodyTimeout: 0 }
    this.#pool = new Pool(origin, { connect, connections: CONNECTIONS_MAX, ...patient })
    this.#newConnection = () => new Client(origin, { connect, ...patient })
  }

  /** The answer's JSON; undefined for an answer without any. */
  async call<T = undefined>(method: Method, path: string, request: EngineRequest): Promise<T> {
    const { body } = await this.#ask(method, path, request)
    const text = await this.#whole(body, request.signal)
    if (text === '') return undefined as T
    try {
      return JSON.parse(text) as T
    } catch (cause) {
      throw new Failure('unavailable', 'The container engine gave an invalid answer.', { cause })
    }
  }

  /** The answer's body as it comes. The caller reads or destroys it. */
  async open(method: Method, path: string, request: EngineRequest): Promise<Readable> {
    const { body } = await this.#ask(method, path, request)
    return body
  }

  /**
   * Throws `unavailable` where it takes no new connections: an engine that ends closes its socket first, and answers on the
   * connections that are open until all of its containers are off.
   */
  async assertTakesConnections(signal: AbortSignal): Promise<void> {
    const connection = this.#newConnection()
    try {
      const { body } = await connection.request({ method: 'GET', path: '/_ping', signal })
      await body.dump()
    } catch (cause) {
      signal.throwIfAborted()
      throw silent(cause)
    } finally {
      await connection.destroy()
    }
  }

  /** The connection itself, once the engine has given it to a container's terminal. */
  async attach(path: string, { query, signal }: EngineRequest): Promise<Duplex> {
    signal.throwIfAborted()
    const version = await this.#agreed(signal)
    const search = new URLSearchParams(query).toString()
    try {
      const { socket } = await this.#pool.upgrade({
        method: 'POST',
        path: `/v${version}${path}?${search}`,
        protocol: 'tcp',
        signal,
      })
      return socket
    } catch (cause) {
      signal.throwIfAborted()
      throw silent(cause)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy()
  }

  async #ask(
    method: Method,
    path: string,
    request: EngineRequest,
  ): Promise<Dispatcher.ResponseData> {
    request.signal.throwIfAborted()
    const version = await this.#agreed(request.signal)
    const answer = await this.#send(method, `/v${version}${path}`, request)
    // 304: it is so already.
    if (answer.statusCode < 300 || answer.statusCode === 304) return answer
    throw engineFailure(answer.statusCode, await this.#whole(answer.body, request.signal))
  }

  async #send(
    method: Method,
    path: string,
    { query, body, archive, signal }: EngineRequest,
  ): Promise<Dispatcher.ResponseData> {
    const type = archive === undefined ? 'application/json' : 'application/x-tar'
    const content = archive ?? (body === undefined ? null : JSON.stringify(body))
    try {
      return await this.#pool.request({
        method,
        path,
        signal,
        headers: content === null ? {} : { 'content-type': type },
        body: content,
        ...(query === undefined ? {} : { query: { ...query } }),
      })
    } catch (cause) {
      signal.throwIfAborted()
      this.#version = undefined
      throw silent(cause)
    }
  }

  async #whole(body: Dispatcher.ResponseData['body'], signal: AbortSignal): Promise<string> {
    try {
      return await body.text()
    } catch (cause) {
      signal.throwIfAborted()
      throw silent(cause)
    }
  }

  /** Asked again after every loss of the connection: an engine may come back upgraded. */
  async #agreed(signal: AbortSignal): Promise<string> {
    const asked = (this.#version ??= this.#negotiated(signal))
    try {
      return await asked
    } catch (error) {
      if (this.#version === asked) this.#version = undefined
      throw error
    }
  }

  async #negotiated(signal: AbortSignal): Promise<string> {
    const { statusCode, body } = await this.#send('GET', '/version', { signal })
    const text = await this.#whole(body, signal)
    if (statusCode !== 200) throw engineFailure(statusCode, text)
    return negotiate(text)
  }
}

function silent(cause: unknown): Failure {
  return new Failure('unavailable', 'The container engine does not answer.', { cause })
}
