import { randomBytes } from 'node:crypto'
import type { Hono } from 'hono'
import { configFromEnv } from '#gateway/config.ts'
import { createGateway, type Gateway } from '#gateway/context.ts'
import { createServer } from '#gateway/server.ts'
import type { DocumentName } from '#openapi/load-document.ts'
import { checkedAnswer } from '../env/api/check-response.ts'
import { gatewayEnv } from '../env/gateway-env.ts'
import { migratedDatabase } from '../env/migrated-database.ts'

/** Gateways on one database with the first users, their identity API answered in process. */
export class IdentityWorld implements AsyncDisposable {
  readonly databaseUrl: string
  readonly passwords = { admin: secret(), demo: secret() }
  readonly #env: Readonly<Record<string, string>>
  readonly #parts = new AsyncDisposableStack()
  #gateways = 0

  constructor(databaseUrl: string, env: Readonly<Record<string, string>>) {
    this.databaseUrl = databaseUrl
    this.#env = env
  }

  async addGateway(
    env: Readonly<Record<string, string>> = {},
    served: readonly DocumentName[] = ['identity'],
  ): Promise<HttpApi> {
    this.#gateways += 1
    const name = { GATEWAY_PROCESS: `gateway-${this.#gateways}` }
    const config = configFromEnv({ ...this.#env, ...name, ...env })
    const gateway = this.#parts.use(await createGateway(config))
    return new HttpApi(gateway, createServer(gateway, served))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync()
  }
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly body: Json
}

/** JSON of any shape, for tests that assert on its values. */
export interface Json {
  readonly [key: string]: Json | undefined
}

/** One gateway's HTTP http. Every answer is checked against the document of its service and microversion. */
export class HttpApi {
  readonly gateway: Gateway
  readonly app: Hono

  constructor(gateway: Gateway, app: Hono) {
    this.gateway = gateway
    this.app = app
  }

  async ask(
    method: string,
    path: string,
    options: {
      readonly token?: string | undefined
      readonly body?: unknown
      readonly headers?: Readonly<Record<string, string>>
    } = {},
  ): Promise<Reply> {
    const headers = new Headers({ host: 'cloud.test:8774', ...options.headers })
    if (options.token !== undefined) headers.set('x-auth-token', options.token)
    if (options.body !== undefined && !headers.has('content-type'))
      headers.set('content-type', 'application/json')
    const sent = options.body
    const body = typeof sent === 'string' ? sent : JSON.stringify(sent)
    const url = `http://cloud.test:8774${path}`
    const init = body === undefined ? { method, headers } : { method, headers, body }
    const response = await this.app.request(url, init)
    const answer = await checkedAnswer({ method, url, headers, body: sent }, response)
    return { status: response.status, headers: response.headers, body: (answer ?? '') as Json }
  }

  /** A token by password; `scope` as in the request, the user's own project when absent. */
  async logIn(user: string, password: string, scope?: unknown): Promise<string> {
    const reply = await this.ask('POST', '/v3/auth/tokens', {
      body: passwordAuth(user, password, scope),
    })
    const token = reply.headers.get('x-subject-token')
    if (reply.status !== 201 || token === null)
      throw new Error(`login of ${user} answered ${reply.status} ${JSON.stringify(reply.body)}`)
    return token
  }
}

export function passwordAuth(user: string, password: string, scope?: unknown): object {
  return {
    auth: {
      identity: {
        methods: ['password'],
        password: { user: { name: user, domain: { id: 'default' }, password } },
      },
      ...(scope !== undefined && { scope }),
    },
  }
}

export async function identityWorld(): Promise<IdentityWorld> {
  const url = await migratedDatabase('identity', 'gateway')
  return new IdentityWorld(url, await gatewayEnv(url))
}

function secret(): string {
  return randomBytes(12).toString('base64url')
}
