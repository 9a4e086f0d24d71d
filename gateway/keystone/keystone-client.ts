import { Agent, type Dispatcher, request } from 'undici'
import { Failure } from '#common/errors.ts'
import { checked } from '#openapi/wire/checked.ts'
import { KeystoneToken } from './keystone-token.ts'

export type KeystoneAnswer = Dispatcher.ResponseData

interface Asked {
  /** Who asks. */
  readonly token?: string
  /** The token that the request is about. */
  readonly subject?: string
  readonly body?: object
}

export const TOKENS = '/auth/tokens?nocatalog'
const CALL_LIMIT_MS = 10_000
const CONNECTIONS_MAX = 16

/** Requests to the Keystone at `url`, which ends in `/v3`. */
export class KeystoneClient implements AsyncDisposable {
  readonly #url: string
  readonly #agent = new Agent({
    connections: CONNECTIONS_MAX,
    headersTimeout: CALL_LIMIT_MS,
    bodyTimeout: CALL_LIMIT_MS,
    connect: { timeout: CALL_LIMIT_MS },
  })

  constructor(url: string) {
    this.#url = url
  }

  /** The answer, whatever its status is; its body must be read or dumped. Throws `unavailable` when none comes. */
  async send(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    { token, subject, body }: Asked,
  ): Promise<KeystoneAnswer> {
    try {
      return await request(this.#url + path, {
        method,
        dispatcher: this.#agent,
        headers: {
          accept: 'application/json',
          'content-type': 'application/json',
          // Without it Keystone hides tokens that have access rules from services that might not obey them.
          'openstack-identity-access-rules': '1.0',
          ...(token !== undefined && { 'x-auth-token': token }),
          ...(subject !== undefined && { 'x-subject-token': subject }),
        },
        body: body === undefined ? null : JSON.stringify(body),
      })
    } catch (cause) {
      throw new Failure(
        'unavailable',
        'The identity service does not answer. Please try again in a while.',
        { cause },
      )
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy()
  }
}

/** The body of a login with a password. */
export function passwordIdentity(
  name: string,
  password: string,
  domain: string,
): { readonly methods: readonly ['password']; readonly password: object } {
  return { methods: ['password'], password: { user: { name, password, domain: { name: domain } } } }
}

/** The token that an answer describes. Throws `unavailable` where it describes none. */
export async function tokenIn(answer: KeystoneAnswer): Promise<KeystoneToken> {
  return readAs(answer, (body) =>
    checked(KeystoneToken, (body as { readonly token: unknown }).token, 'a token of Keystone'),
  )
}

/** The body as `read` takes it. Throws `unavailable` for any other. */
export async function readAs<T>({ body }: KeystoneAnswer, read: (body: unknown) => T): Promise<T> {
  try {
    return read(await body.json())
  } catch (cause) {
    throw new Failure(
      'unavailable',
      'The server at the address of the identity service is not a Keystone.',
      { cause },
    )
  }
}

/** `message`, because Keystone answered so. */
export async function unexpectedAnswer(
  { statusCode, body }: KeystoneAnswer,
  message: string,
): Promise<Failure> {
  await body.dump()
  return new Failure('unavailable', message, { detail: `Keystone answered ${statusCode}` })
}
