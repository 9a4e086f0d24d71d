import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

const LIFE_MS = 3_600_000
const domain = { id: 'default', name: 'Default' }

/** A user who signs in with a password. */
export interface StubUser {
  readonly name: string
  readonly password: string
  /** Each is its own id. */
  readonly projects: readonly string[]
  readonly roles: readonly string[]
  readonly defaultProject?: string
  /** After the password, Keystone asks for a second proof. */
  readonly needsMore?: true
}

/** A Keystone that knows the tokens a test gives out, and who may look them up. */
export class StubKeystone implements AsyncDisposable {
  readonly login = { user: 'weir', password: 'a secret' } as const
  /** The number of logins of the gateway here, of look-ups of tokens, and of logins of users. */
  readonly asked = { logins: 0, tokens: 0, users: 0 }
  /** Awaited before a user's login is answered. */
  beforeLogin: () => Promise<void> = () => Promise.resolve()
  readonly #tokens = new Map<string, StubToken>()
  readonly #users = new Map<string, StubUser>()
  readonly #own = new Set<string>()
  readonly #http: Server

  private constructor() {
    this.#http = createServer((request, response) => {
      void this.#answer(request).then(({ status, headers = {}, body }) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers })
        response.end(status === 204 ? undefined : JSON.stringify(body))
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

  addUser(user: StubUser): void {
    this.#users.set(user.name, user)
  }

  /** A token of this project with these roles; `more` adds properties to its description. */
  give(project: string, roles: readonly string[], more: object = {}): string {
    return this.#give('ann', { id: project, name: project, domain }, roles, more)
  }

  revoke(token: string): void {
    this.#tokens.delete(token)
  }

  isValid(token: string): boolean {
    return this.#tokens.has(token)
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

  #give(
    name: string,
    project: StubToken['project'],
    roles: readonly string[],
    more: object = {},
  ): string {
    const token = randomUUID()
    this.#tokens.set(token, {
      expires_at: new Date(Date.now() + LIFE_MS).toISOString(),
      user: { id: `${name}-id`, name, domain },
      project,
      roles: project && roles.map((role) => ({ id: role, name: role })),
      ...more,
    })
    return token
  }

  async #answer(request: IncomingMessage): Promise<StubAnswer> {
    const [path] = request.url!.split('?')
    if (path === '/v3/auth/projects') return this.#listProjects(request)
    if (path !== '/v3/auth/tokens') return { status: 404, body: {} }
    if (request.method === 'POST') return this.#logIn(((await json(request)) as LoginBody).auth)
    if (request.method === 'DELETE') return this.#deleteToken(request)
    return this.#showToken(request)
  }

  async #logIn({ identity, scope }: LoginBody['auth']): Promise<StubAnswer> {
    if (identity.token !== undefined) {
      const token = this.#tokens.get(identity.token.id)
      return token === undefined ? REFUSED : this.#issue(token.user.name, scope)
    }
    const { name, password } = identity.password!.user
    if (name === this.login.user) return this.#ownLogIn(password)
    this.asked.users += 1
    await this.beforeLogin()
    const user = this.#users.get(name)
    if (user?.password !== password || identity.password!.user.domain.name !== domain.name)
      return REFUSED
    if (user.needsMore) return { ...REFUSED, headers: { 'openstack-auth-receipt': randomUUID() } }
    return this.#issue(name, scope)
  }

  #ownLogIn(password: string): StubAnswer {
    this.asked.logins += 1
    if (password !== this.login.password) return REFUSED
    const own = randomUUID()
    this.#own.add(own)
    return { status: 201, headers: { 'x-subject-token': own }, body: { token: {} } }
  }

  #issue(name: string, scope: LoginBody['auth']['scope']): StubAnswer {
    const { projects, roles, defaultProject } = this.#users.get(name)!
    const id =
      scope === undefined ? defaultProject : scope === 'unscoped' ? undefined : scope.project.id
    if (id !== undefined && !projects.includes(id)) return REFUSED
    const token = this.#give(name, id === undefined ? undefined : { id, name: id, domain }, roles)
    return {
      status: 201,
      headers: { 'x-subject-token': token },
      body: { token: this.#tokens.get(token)! },
    }
  }

  #listProjects({ headers }: IncomingMessage): StubAnswer {
    const token = this.#tokens.get(String(headers['x-auth-token']))
    if (token === undefined) return REFUSED
    const projects = this.#users.get(token.user.name)?.projects ?? []
    return { status: 200, body: { projects: projects.map((id) => ({ id, name: id })) } }
  }

  #deleteToken({ headers }: IncomingMessage): StubAnswer {
    if (!this.#tokens.has(String(headers['x-auth-token']))) return REFUSED
    this.#tokens.delete(String(headers['x-subject-token']))
    return { status: 204, body: {} }
  }

  #showToken({ headers }: IncomingMessage): StubAnswer {
    if (!this.#own.has(String(headers['x-auth-token']))) return REFUSED
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

const REFUSED: StubAnswer = { status: 401, body: {} }

interface StubToken {
  readonly expires_at: string
  readonly user: { readonly id: string; readonly name: string; readonly domain: object }
  readonly project:
    | { readonly id: string; readonly name: string; readonly domain: object }
    | undefined
  readonly roles: readonly object[] | undefined
}

interface LoginBody {
  readonly auth: {
    readonly identity: {
      readonly password?: {
        readonly user: {
          readonly name: string
          readonly password: string
          readonly domain: { readonly name: string }
        }
      }
      readonly token?: { readonly id: string }
    }
    readonly scope?: 'unscoped' | { readonly project: { readonly id: string } }
  }
}
