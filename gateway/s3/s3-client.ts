import { createHash } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import { Agent, type Dispatcher, request } from 'undici'
import { type Clock, systemClock } from '#common/clock.ts'
import { isFailure } from '#common/errors.ts'
import { mayPass, notAnswered, refusedBy } from './s3-failures.ts'
import type { S3Settings } from './s3-settings.ts'

/** One kind of request each; metrics count by them. */
export const S3_OPERATIONS = [
  'abort',
  'begin',
  'complete',
  'copy',
  'list',
  'put',
  'read',
  'remove',
  'show',
] as const
export type S3Operation = (typeof S3_OPERATIONS)[number]

export interface S3Request {
  readonly operation: S3Operation
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Absent: the bucket itself. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** Statuses besides 2xx that are answers, and no failures. */
  readonly expects?: readonly number[]
  /** Of work that S3 does before it answers. */
  readonly isSlow?: boolean
}

export interface S3Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** What each request came to, once it has been answered or given up. */
export type ObserveS3 = (operation: S3Operation, outcome: 'ok' | 'failed') => void

export interface S3ClientOptions {
  readonly clock?: Pick<Clock, 'sleep'>
  readonly observe?: ObserveS3
  /** How long S3 may take to begin its answer, and between two chunks; by default 30 s. */
  readonly responseTimeoutMs?: number
  /** The same of work that S3 does before it answers; by default 10 min. */
  readonly slowMaxMs?: number
}

const CONNECT_TIMEOUT_MS = 5_000
const RESPONSE_TIMEOUT_MS = 30_000
/** Of requests that are also made while a row of the database is held. */
const BRIEF_MAX_MS = 5_000
const BRIEF: ReadonlySet<S3Operation> = new Set(['show', 'remove'])
/** S3 copies about 100 MB a second, and at most 5 GiB in one request. */
const SLOW_MAX_MS = 600_000
/** Before each further try. */
const PAUSES_MS = [100, 500, 2_000] as const

/**
 * Requests to a bucket of an S3, signed (Signature Version 4) again for each try. A body is signed with its SHA-256, so that
 * S3 refuses one that was changed on its way. Failures that may pass are tried again for some seconds.
 */
export class S3Client implements AsyncDisposable {
  readonly settings: S3Settings
  readonly #agent: Agent
  readonly #slowMaxMs: number
  readonly #briefMaxMs: number
  readonly #clock: Pick<Clock, 'sleep'>
  readonly #observe: ObserveS3
  readonly #keys = new Map<string, ArrayBuffer>()

  constructor(settings: S3Settings, options: S3ClientOptions = {}) {
    const { clock = systemClock, observe = () => undefined } = options
    const { responseTimeoutMs = RESPONSE_TIMEOUT_MS, slowMaxMs = SLOW_MAX_MS } = options
    this.settings = settings
    this.#clock = clock
    this.#observe = observe
    this.#slowMaxMs = slowMaxMs
    this.#briefMaxMs = Math.min(responseTimeoutMs, BRIEF_MAX_MS)
    this.#agent = new Agent({
      connect: { timeout: CONNECT_TIMEOUT_MS },
      headersTimeout: responseTimeoutMs,
      bodyTimeout: responseTimeoutMs,
    })
  }

  /** The whole answer. Throws `unavailable` for any other status than 2xx and those expected. */
  async ask(asked: S3Request): Promise<S3Answer> {
    return this.#withRetries(asked, async () => {
      const { statusCode, headers, body } = await this.#send(asked)
      const text = await body.text()
      if (!isAnswer(asked, statusCode) || isHiddenError(asked, text))
        throw refusedBy(this.settings, asked.operation, { status: statusCode, text })
      return { status: statusCode, headers, text }
    })
  }

  /** The answer while it comes; its body must be read or destroyed. Throws as `ask` does. */
  async open(asked: S3Request, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    return this.#withRetries(asked, async () => {
      const answer = await this.#send(asked, signal)
      if (isAnswer(asked, answer.statusCode)) return answer
      const text = await answer.body.text()
      throw refusedBy(this.settings, asked.operation, { status: answer.statusCode, text })
    })
  }

  /** A URL with which anyone may read the object for `seconds`. */
  async presigned(key: string, seconds: number): Promise<string> {
    const url = this.#urlOf({ key, query: { 'X-Amz-Expires': String(seconds) } })
    const signed = await this.#signer({ method: 'GET', url, signQuery: true }).sign()
    return signed.url.href
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy()
  }

  async #withRetries<T>({ operation }: S3Request, attempt: () => Promise<T>): Promise<T> {
    for (let nth = 0; ; nth += 1) {
      try {
        const answer = await attempt()
        this.#observe(operation, 'ok')
        return answer
      } catch (error) {
        const pauseMs = PAUSES_MS[nth]
        if (pauseMs === undefined || !mayPass(error)) {
          this.#observe(operation, 'failed')
          throw isFailure(error) ? error : notAnswered(this.settings, operation, error)
        }
        await this.#clock.sleep(pauseMs)
      }
    }
  }

  async #send(asked: S3Request, signal?: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { operation, method, body, headers = {}, isSlow = false } = asked
    const sent = { ...headers, 'X-Amz-Content-Sha256': sha256Of(body ?? '') }
    const signed = await this.#signer({ method, url: this.#urlOf(asked), headers: sent }).sign()
    return request(signed.url, {
      dispatcher: this.#agent,
      method,
      headers: Object.fromEntries(signed.headers),
      ...(body && { body }),
      ...(BRIEF.has(operation) && { headersTimeout: this.#briefMaxMs }),
      ...(isSlow && { headersTimeout: this.#slowMaxMs, bodyTimeout: this.#slowMaxMs }),
      ...(signal && { signal }),
    })
  }

  #urlOf({ key, query = {} }: Pick<S3Request, 'key' | 'query'>): string {
    const { endpoint, bucket } = this.settings
    const path = key === undefined ? bucket : `${bucket}/${key}`
    const url = new URL(`${endpoint}/${path}`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    return url.href
  }

  #signer(
    what: Pick<ConstructorParameters<typeof AwsV4Signer>[0], 'method' | 'url'> & {
      readonly headers?: Readonly<Record<string, string>>
      readonly signQuery?: boolean
    },
  ): AwsV4Signer {
    const { accessKey: accessKeyId, secretKey: secretAccessKey, region } = this.settings
    const cache = this.#keys
    return new AwsV4Signer({
      ...what,
      service: 's3',
      region,
      accessKeyId,
      secretAccessKey,
      cache,
    })
  }
}

function isAnswer({ expects = [] }: S3Request, status: number): boolean {
  return (status >= 200 && status < 300) || expects.includes(status)
}

/** S3 begins its answer to work that takes long before it knows the outcome. */
function isHiddenError({ isSlow = false }: S3Request, text: string): boolean {
  return isSlow && text.includes('<Error>')
}

function sha256Of(body: Uint8Array | string): string {
  return createHash('sha256').update(body).digest('hex')
}
