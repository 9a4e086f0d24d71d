import { Agent, type Dispatcher, request } from 'undici'
import { Failure } from '#common/errors.ts'
import { checked } from '#openapi/wire/checked.ts'
import { KeystoneToken } from './keystone-token.ts'

export interface KeystoneSettings {
  /** Ends in `/v3`. */
  readonly url: string
  /** The account with which tokens are looked up. */
  readonly login: {
    readonly user: string
    readonly userDomain: string
    readonly password: string
    readonly project: string
    readonly projectDomain: string
  }
}

type Answer = Dispatcher.ResponseData

const CALL_LIMIT_MS = 10_000
const CONNECTIONS_MAX = 16

/** An external Keystone, which only verifies tokens. */
export class Keystone implements AsyncDisposable {
  readonly #settings: KeystoneSettings
  readonly #agent = new Agent({
    connections: CONNECTIONS_MAX,
    headersTimeout: CALL_LIMIT_MS,
    bodyTimeout: CALL_LIMIT_MS,
    connect: { timeout: CALL_LIMIT_MS },
  })
  #own: Promise<string> | undefined

  constructor(settings: KeystoneSettings) {
    this.#settings = settings
  }

  /** The content of the token; undefined when it is not valid. Throws `unavailable` when Keystone does not answer. */
  async tokenOf(token: string): Promise<KeystoneToken | undefined> {
    const first = await this.#ask(token)
    // Our own token has ended, or Keystone has lost it.
    const answer = first.statusCode === 401 ? await this.#repeatRequest(first, token) : first
    if (answer.statusCode === 404) {
      await answer.body.dump()
      return undefined
    }
    if (answer.statusCode !== 200) throw await unexpectedAnswer(answer)
    try {
      const { token: body } = (await answer.body.json()) as { readonly token: unknown }
      return checked(KeystoneToken, body, 'a token of Keystone')
    } catch (cause) {
      throw new Failure(
        'unavailable',
        'The server at the address of the identity service is not a Keystone.',
        {
          cause,
        },
      )
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy()
  }

  async #repeatRequest(refused: Answer, token: string): Promise<Answer> {
    await refused.body.dump()
    this.#own = undefined
    return this.#ask(token)
  }

  async #ask(token: string): Promise<Answer> {
    return this.#send('GET', '/auth/tokens?nocatalog', {
      'x-auth-token': await this.#ownToken(),
      'x-subject-token': token,
      // Without it Keystone hides tokens that have access rules from services that might not obey them.
      'openstack-identity-access-rules': '1.0',
    })
  }

  /** One login at a time; one that failed is tried again by the next who needs it. */
  #ownToken(): Promise<string> {
    const own = (this.#own ??= this.#logIn())
    own.catch(() => {
      if (this.#own === own) this.#own = undefined
    })
    return own
  }

  async #logIn(): Promise<string> {
    const { user, userDomain, password, project, projectDomain } = this.#settings.login
    const identity = {
      methods: ['password'],
      password: { user: { name: user, password, domain: { name: userDomain } } },
    }
    const scope = { project: { name: project, domain: { name: projectDomain } } }
    const body = JSON.stringify({ auth: { identity, scope } })
    const answer = await this.#send('POST', '/auth/tokens?nocatalog', {}, body)
    const token = answer.headers['x-subject-token']
    if (answer.statusCode !== 201 || typeof token !== 'string') throw await unexpectedAnswer(answer)
    await answer.body.dump()
    return token
  }

  async #send(
    method: 'GET' | 'POST',
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<Answer> {
    try {
      return await request(this.#settings.url + path, {
        method,
        dispatcher: this.#agent,
        headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
        body: body ?? null,
      })
    } catch (cause) {
      throw new Failure('unavailable', 'The identity service does not answer.', { cause })
    }
  }
}

async function unexpectedAnswer({ statusCode, body }: Answer): Promise<Failure> {
  await body.dump()
  const detail = `Keystone answered ${statusCode}`
  return new Failure('unavailable', 'The identity service could not tell whose token this is.', {
    detail,
  })
}
