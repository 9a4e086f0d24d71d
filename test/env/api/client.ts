import { Agent, request } from 'undici'
import { serviceAt } from '#gateway/http/services.ts'
import type { Microversion } from '#openapi/microversions.ts'
import type { Method } from '#openapi/projection/operation.ts'
import { checkAnswer } from './check-answer.ts'

export interface Account {
  readonly user: string
  readonly password: string
  readonly project: string
}

export interface CallOptions {
  /** The microversion of Placement or Block Storage on their paths, otherwise of Compute; the oldest by default. */
  readonly version?: Microversion
  readonly headers?: Readonly<Record<string, string>>
  /** Ask this gateway, by its place; else each in turn. */
  readonly gateway?: number
  /** Send these bytes as they are instead of a JSON body. */
  readonly raw?: string | Uint8Array
}

export interface Answer<Body> {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The part of an answer that the test reads, after the check against the document. */
  readonly body: Body
}

/** An answer of which a test reads little: fields are looked at with matchers. */
export type Loose = Readonly<Record<string, unknown>>

const CALL_LIMIT_MS = 30_000

/** A user of the cloud's API. Every answer is checked against the document of its service and microversion. */
export class ApiClient implements AsyncDisposable {
  readonly account: Account
  readonly #endpoints: () => readonly string[]
  readonly #agent = new Agent({ headersTimeout: CALL_LIMIT_MS, bodyTimeout: CALL_LIMIT_MS })
  #token: Promise<string> | undefined
  #turn = 0

  constructor(account: Account, endpoints: () => readonly string[]) {
    this.account = account
    this.#endpoints = endpoints
  }

  get<Body = Loose>(path: string, options?: CallOptions): Promise<Answer<Body>> {
    return this.call('GET', path, undefined, options)
  }

  post<Body = Loose>(path: string, body?: unknown, options?: CallOptions): Promise<Answer<Body>> {
    return this.call('POST', path, body, options)
  }

  put<Body = Loose>(path: string, body?: unknown, options?: CallOptions): Promise<Answer<Body>> {
    return this.call('PUT', path, body, options)
  }

  delete<Body = Loose>(path: string, options?: CallOptions): Promise<Answer<Body>> {
    return this.call('DELETE', path, undefined, options)
  }

  async call<Body = Loose>(
    method: Method,
    path: string,
    body: unknown,
    options: CallOptions = {},
  ): Promise<Answer<Body>> {
    const headers = { 'x-auth-token': await this.token(), ...options.headers }
    return this.#send<Body>(method, path, body, { ...options, headers })
  }

  /** Logs in once; a login that failed is tried again by the next call. */
  token(): Promise<string> {
    this.#token ??= this.#logIn().catch((error: unknown) => {
      this.#token = undefined
      throw error
    })
    return this.#token
  }

  /** The token is forgotten: the next call logs in again. */
  logOut(): void {
    this.#token = undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy()
  }

  async #logIn(): Promise<string> {
    const { user, password, project } = this.account
    const domain = { id: 'default' }
    const auth = {
      identity: { methods: ['password'], password: { user: { name: user, password, domain } } },
      scope: { project: { name: project, domain } },
    }
    const answer = await this.#send('POST', '/identity/v3/auth/tokens', { auth }, {})
    const token = answer.headers['x-subject-token']
    if (answer.status !== 201 || token === undefined)
      throw new Error(`Login of ${user} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    return token
  }

  async #send<Body>(
    method: Method,
    path: string,
    body: unknown,
    options: CallOptions,
  ): Promise<Answer<Body>> {
    const version = options.version ?? '2.1'
    const { name } = serviceAt(path)
    const service = name === 'placement' || name === 'volume' ? name : 'compute'
    const payload = options.raw ?? (body === undefined ? null : JSON.stringify(body))
    const response = await request(this.#endpoint(options.gateway) + path, {
      dispatcher: this.#agent,
      method,
      headers: {
        accept: 'application/json',
        ...(version === '2.1' ? {} : { 'openstack-api-version': `${service} ${version}` }),
        ...(payload === null ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      body: payload,
    })
    const text = await response.body.text()
    const { statusCode: status, headers } = response
    const isJson = String(headers['content-type'] ?? '').includes('json')
    const answer: unknown = text === '' ? undefined : isJson ? JSON.parse(text) : text
    const bare = path.split('?', 1)[0] ?? path
    const checked = isJson ? answer : undefined
    checkAnswer({ method, path: bare, version, request: body, status, answer: checked })
    return { status, headers: headers as Record<string, string>, body: answer as Body }
  }

  #endpoint(wanted: number | undefined): string {
    const endpoints = this.#endpoints()
    this.#turn += 1
    const endpoint = endpoints[(wanted ?? this.#turn) % endpoints.length]
    if (endpoint === undefined) throw new Error('The cloud has no gateway')
    return endpoint
  }
}
