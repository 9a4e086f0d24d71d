import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

const LIFE_MS = 3_600_000
const domain = { id: 'default', name: 'Default' }

/** A Keystone that knows the tokens a test gives out, and who may look them up. */
export class StubKeystone implements AsyncDisposable {
  readonly login = { user: 'weir', password: 'a secret' } as const
  /** The number of logins here, and of look-ups of tokens. */
  readonly asked = { logins: 0, tokens: 0 }
  readonly #tokens = new Map<string, object>()
  readonly #own = new Set<string>()
  readonly #http: Server

  private constructor() {
    this.#http = createServer((request, response) => {
      void this.#answer(request).then(({ status, headers = {}, body }) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers })
        response.end(JSON.stringify(body))
      })
    })
  }

  static async start(): Promise<StubKeystone> {
    const keystone = new StubKeystone()
    await new Promise<void>((resolve) => void keystone.#http.listen(0, '127.0.0.1', resolve))
    return keystone
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`
  }

  /** A token of this project with these roles; `more` adds properties to its description. */
  give(project: string, roles: readonly string[], more: object = {}): string {
    const token = randomUUID()
    this.#tokens.set(token, {
      expires_at: new Date(Date.now() + LIFE_MS).toISOString(),
      user: { id: `${project}-user`, name: 'ann', domain },
      project: { id: project, name: project, domain },
      roles: roles.map((name) => ({ id: name, name })),
      ...more,
    })
    return token
  }

  revoke(token: string): void {
    this.#tokens.delete(token)
  }

  /** As after a restart with other keys: tokens issued before are not valid any more. */
  forgetLogins(): void {
    this.#own.clear()
  }

  /** Afterwards no request is answered. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#http.closeAllConnections()
    await new Promise<void>((resolve) => void this.#http.close(() => resolve()))
  }

  async #answer(request: IncomingMessage): Promise<StubAnswer> {
    if (!request.url?.startsWith('/v3/auth/tokens')) return { status: 404, body: {} }
    return request.method === 'POST' ? this.#logIn(await json(request)) : this.#showToken(request)
  }

  #logIn(asked: unknown): StubAnswer {
    this.asked.logins += 1
    const { identity } = (asked as LoginBody).auth
    const { name, password } = identity.password.user
    if (name !== this.login.user || password !== this.login.password)
      return { status: 401, body: {} }
    const own = randomUUID()
    this.#own.add(own)
    return { status: 201, headers: { 'x-subject-token': own }, body: { token: {} } }
  }

  #showToken({ headers }: IncomingMessage): StubAnswer {
    if (!this.#own.has(String(headers['x-auth-token']))) return { status: 401, body: {} }
    this.asked.tokens += 1
    const token = this.#tokens.get(String(headers['x-subject-token']))
    return token === undefined ? { status: 404, body: {} } : { status: 200, body: { token } }
  }
}

interface StubAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object
}

interface LoginBody {
  readonly auth: {
    readonly identity: {
      readonly password: { readonly user: { readonly name: string; readonly password: string } }
    }
  }
}
