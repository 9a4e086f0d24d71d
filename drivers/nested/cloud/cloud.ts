import { Readable } from 'node:stream'
import type { Static, TSchema } from 'typebox'
import { Agent, type Dispatcher } from 'undici'
import { currentWork } from '#common/current-work.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { checked } from '#openapi/wire/checked.ts'
import { pemFile } from '../../pem-file.ts'
import type { NestedSettings } from '../settings.ts'
import type { CloudService } from './catalog.ts'
import { checkedLookup } from './check-address.ts'
import { cloudFailure } from './cloud-failure.ts'
import { noAnswer } from './no-answer.ts'
import { RateLimit } from './rate-limit.ts'
import { withinRequestSpan } from './request-span.ts'
import { retryAfterMs } from './retry-after.ts'
import { type Access, type Message, type ProjectCheck, type Sent, Session } from './session.ts'

export interface CloudRequest {
  readonly query?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: object
  /** Sent as it is; cannot be sent twice. */
  readonly content?: AsyncIterable<Uint8Array>
  /** Of Compute or Block Storage; absent: the oldest. */
  readonly microversion?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** The gateways through which a request has come, besides this one's. */
  readonly via?: readonly string[]
  readonly signal: AbortSignal
  /** Once it is being sent the signal does not cut it off: it may be done all the same, and its answer is needed. */
  readonly isUncut?: boolean
  /** How long the answer's body may pause; absent: as long as any answer may take. */
  readonly idleTimeoutMs?: number
}

export interface CloudAnswer<T> {
  readonly body: T
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** Of services in failures, where it is not ours. */
const NAMES: Readonly<Partial<Record<CloudService, string>>> = { volume: 'Block Storage' }
const CONNECTIONS_MAX = 16
const CONNECT_TIMEOUT_MS = 10_000
/** A gateway of ours echoes it: what does so also knows `Idempotency-Key`. */
export const VIA = 'x-weir-via'

/**
 * The services of one project of another cloud. Every call logs in as needed and once more when the token is refused,
 * keeps to the rate that settings and cloud allow, and throws the signal's reason when aborted, else what `cloudFailure`
 * says; `unavailable` when the cloud is silent or answers nonsense. Redirects are not followed: a token goes only where
 * the settings allow.
 */
export class Cloud implements AsyncDisposable {
  readonly #settings: NestedSettings
  readonly #via: string
  readonly #agent: Agent
  readonly #rate: RateLimit
  readonly #session: Session
  #isWeir = false

  /** `via` names this host's cell to gateways below. */
  constructor(settings: NestedSettings, via: string, check?: ProjectCheck) {
    this.#settings = settings
    this.#via = via
    this.#agent = new Agent({
      connections: CONNECTIONS_MAX,
      connect: {
        timeout: Math.min(CONNECT_TIMEOUT_MS, settings.requestTimeoutMs),
        lookup: checkedLookup(settings),
        ...(settings.caFile === undefined ? {} : { ca: pemFile('ca_file', settings.caFile) }),
      },
      headersTimeout: settings.requestTimeoutMs,
      bodyTimeout: settings.requestTimeoutMs,
    })
    this.#rate = new RateLimit(settings.requestsPerSecond)
    const send = (request: Message, signal: AbortSignal) =>
      this.#whole({ ...request, headers: { ...request.headers, [VIA]: via } }, signal)
    this.#session = new Session(settings, send, check)
  }

  /** True once an answer has shown that the cloud is another Weir. */
  get isWeir(): boolean {
    return this.#isWeir
  }

  access(signal: AbortSignal): Promise<Access> {
    return this.#session.access(signal)
  }

  /** The answer with its JSON, as `schema` has it; what else is in it is let be. */
  async ask<T extends TSchema>(
    schema: T,
    service: CloudService,
    method: Message['method'],
    path: string,
    request: CloudRequest,
  ): Promise<CloudAnswer<Static<T>>> {
    const { body, headers } = await this.#answer(service, method, path, request)
    try {
      return { body: checked(schema, body, 'Its answer'), headers }
    } catch (cause) {
      throw nonsense(`${method} ${path} of ${service}`, cause)
    }
  }

  /** Resolves once the cloud has taken the request. */
  async call(
    service: CloudService,
    method: Message['method'],
    path: string,
    request: CloudRequest,
  ): Promise<void> {
    await this.#answer(service, method, path, request)
  }

  /** A success and its JSON; undefined for an answer without any. */
  async #answer(
    service: CloudService,
    method: Message['method'],
    path: string,
    request: CloudRequest,
  ): Promise<CloudAnswer<unknown>> {
    const sending = request.isUncut === true ? new AbortController().signal : request.signal
    const { status, headers, text } = await this.#authorized(service, request, async (access) =>
      withinRequestSpan(this.#message(access, { service, method, path, request }), service, (own) =>
        this.#whole(own, sending),
      ),
    )
    const what = `${method} ${path} of ${service}`
    if (status < 200 || status > 299) throw cloudFailure({ what, status, body: text })
    try {
      return { body: text === '' ? undefined : JSON.parse(text), headers }
    } catch (cause) {
      throw nonsense(what, cause)
    }
  }

  /** The answer's body as it comes; reading it throws `unavailable` where it breaks off. The caller reads it. */
  async open(
    service: CloudService,
    path: string,
    request: Omit<CloudRequest, 'body' | 'content'>,
  ): Promise<AsyncIterable<Uint8Array>> {
    const { signal } = request
    const sent = await this.#authorized(service, request, async (access) => {
      const message = this.#message(access, { service, method: 'GET', path, request })
      return withinRequestSpan(message, service, async (own) => {
        const { statusCode: status, headers, body } = await this.#begin(own, signal)
        const { origin } = own.url
        return status === 200
          ? { status, headers, body: chunksOf(body, origin, signal) }
          : { status, headers, text: await textOf(body, origin, signal) }
      })
    })
    if ('body' in sent) return sent.body
    throw cloudFailure({
      what: `GET ${path} of ${service}`,
      status: sent.status,
      body: sent.text,
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy()
  }

  /** A request refused for a bad token or for its rate was not carried out, so it may be repeated. */
  async #authorized<S extends Pick<Sent, 'status' | 'headers'>>(
    service: CloudService,
    { signal, content }: Pick<CloudRequest, 'signal' | 'content'>,
    ask: (access: Access) => Promise<S>,
  ): Promise<S> {
    for (let isFirst = true; ; isFirst = false) {
      const access = await this.#session.access(signal)
      await this.#rate.turn(signal)
      const sent = await ask(access)
      const waitMs = retryAfterMs(sent)
      if (waitMs !== undefined) this.#rate.pause(waitMs)
      else if (sent.status !== 401) return sent
      else await this.#session.drop(access)
      if (content !== undefined || (!isFirst && waitMs === undefined))
        throw new Failure('unavailable', 'The nested cloud accepts no requests now.', {
          detail: `${service} answered ${sent.status}`,
        })
    }
  }

  #message(
    { token, endpoints }: Access,
    asked: {
      readonly service: CloudService
      readonly method: Message['method']
      readonly path: string
      readonly request: CloudRequest
    },
  ): Message {
    const { service, method, path, request } = asked
    const { body, content, microversion, query, via = [] } = request
    const endpoint = endpoints[service]
    if (endpoint === undefined)
      throw new Failure(
        'unsupported',
        `The nested cloud has no ${NAMES[service] ?? service} service.`,
      )
    const url = new URL(`${endpoint.href}${path}`)
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value)
    const type = content === undefined ? 'application/json' : 'application/octet-stream'
    return {
      method,
      url,
      headers: {
        accept: method === 'GET' && path.endsWith('/file') ? '*/*' : 'application/json',
        'x-auth-token': token,
        [VIA]: [...via, this.#via].join(', '),
        ...workHeaders(),
        ...(microversion === undefined ? {} : versionHeaders(service, microversion)),
        ...(body === undefined && content === undefined ? {} : { 'content-type': type }),
        ...request.headers,
      },
      body: content === undefined ? jsonOf(body) : Readable.from(content),
      ...(request.idleTimeoutMs === undefined ? {} : { idleTimeoutMs: request.idleTimeoutMs }),
    }
  }

  async #whole(message: Message, signal: AbortSignal): Promise<Sent> {
    const { statusCode, headers, body } = await this.#begin(message, signal)
    return { status: statusCode, headers, text: await textOf(body, message.url.origin, signal) }
  }

  async #begin(
    { url, method, headers, body, idleTimeoutMs }: Message,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    signal.throwIfAborted()
    try {
      const answer = await this.#agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method,
        headers,
        body,
        signal,
        headersTimeout: this.#settings.requestTimeoutMs,
        bodyTimeout: idleTimeoutMs ?? this.#settings.requestTimeoutMs,
      })
      if (answer.headers[VIA] !== undefined) this.#isWeir = true
      return answer
    } catch (cause) {
      signal.throwIfAborted()
      // A failure that the content itself reports while it is read is rethrown unchanged.
      throw isFailure(cause) ? cause : noAnswer(cause, url.origin)
    }
  }
}

async function* chunksOf(
  body: AsyncIterable<Uint8Array>,
  where: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (cause) {
    signal.throwIfAborted()
    throw noAnswer(cause, where)
  }
}

async function textOf(
  body: Dispatcher.ResponseData['body'],
  where: string,
  signal: AbortSignal,
): Promise<string> {
  try {
    return await body.text()
  } catch (cause) {
    signal.throwIfAborted()
    throw noAnswer(cause, where)
  }
}

function jsonOf(body: object | undefined): string | null {
  return body === undefined ? null : JSON.stringify(body)
}

/** The cloud's own records then name the request that was sent here, and so do those of the clouds nested in it. */
function workHeaders(): Readonly<Record<string, string>> {
  const work = currentWork()
  if (work === undefined) return {}
  return {
    'x-openstack-request-id': work.requestId,
    traceparent: work.traceparent,
  }
}

function versionHeaders(
  service: CloudService,
  microversion: string,
): Readonly<Record<string, string>> {
  const version = { 'openstack-api-version': `${service} ${microversion}` }
  if (service !== 'compute') return version
  return {
    ...version,
    // Clouds before 2.27 know only this one.
    'x-openstack-nova-api-version': microversion,
  }
}

function nonsense(detail: string, cause: unknown): Failure {
  return new Failure('unavailable', 'The nested cloud gave an invalid answer.', { cause, detail })
}
