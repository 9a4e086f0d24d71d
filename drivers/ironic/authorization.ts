import { type Static, Type } from 'typebox'
import { type Dispatcher, request } from 'undici'
import { Failure } from '#common/errors.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import { checked } from '#openapi/wire/checked.ts'
import { abortable } from '../abortable.ts'
import type { LoginSource } from '../cloud-login.ts'
import { tokenRequest } from '../token-request.ts'

/** What requests carry so that ironic knows whose they are. */
export interface Authorization {
  /** Throws `unavailable` when Keystone or ironic does not answer, or refuses the login. */
  headers(signal: AbortSignal): Promise<Readonly<Record<string, string>>>
  /** The last token was refused. True if a new one may help. */
  refused(): boolean
}

/** A password of ironic's own, or none where ironic runs without authentication. */
export function basicAuthorization(
  login: { readonly username: string; readonly password: string } | undefined,
): Authorization {
  const basic = login && Buffer.from(`${login.username}:${login.password}`).toString('base64')
  const headers: Readonly<Record<string, string>> =
    basic === undefined ? {} : { authorization: `Basic ${basic}` }
  return { headers: async () => headers, refused: () => false }
}

const TokenBody = Type.Object({
  token: Type.Object({ expires_at: Type.String(), issued_at: Type.String() }),
})

interface Token {
  readonly headers: Readonly<Record<string, string>>
  /** Epoch milliseconds by our clock. */
  readonly renewAt: number
}

/** A token is renewed when this part of its life is over. */
const RENEW_AFTER = 0.8
const LOGIN_MS = 60_000
const CREATED = 201

/** Keystone's tokens. Logs in once for all who ask at the same time, and again before the token ends or when it is refused. */
export class KeystoneAuthorization implements Authorization {
  readonly #url: string
  readonly #login: LoginSource
  readonly #dispatcher: Dispatcher
  #token: Promise<Token> | undefined

  /** `authUrl`: Keystone's, with or without `/v3`. */
  constructor(authUrl: string, login: LoginSource, dispatcher: Dispatcher) {
    this.#url = `${withoutTrailing(authUrl, '/').replace(/\/v3$/, '')}/v3/auth/tokens`
    this.#login = login
    this.#dispatcher = dispatcher
  }

  async headers(signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    // Of all who wait none may end it for the others.
    const asked = (this.#token ??= this.#logIn(AbortSignal.timeout(LOGIN_MS)))
    try {
      const { headers, renewAt } = await abortable(asked, signal)
      if (performance.now() >= renewAt) this.#forget(asked)
      return headers
    } catch (error) {
      if (!signal.aborted) this.#forget(asked)
      throw error
    }
  }

  refused(): boolean {
    this.#token = undefined
    return true
  }

  #forget(token: Promise<Token>): void {
    if (this.#token === token) this.#token = undefined
  }

  async #logIn(signal: AbortSignal): Promise<Token> {
    const body = JSON.stringify(tokenRequest(this.#login()))
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const dispatcher = this.#dispatcher
    const answer = await request(this.#url, {
      method: 'POST',
      headers,
      body,
      signal,
      dispatcher,
    }).catch((cause: unknown) => {
      throw new Failure('unavailable', 'The Keystone of ironic does not answer.', { cause })
    })
    const text = await answer.body.text()
    const token = answer.headers['x-subject-token']
    if (answer.statusCode !== CREATED || typeof token !== 'string')
      throw new Failure('unavailable', 'The Keystone of ironic refuses this host’s credential.', {
        detail: `it answered ${answer.statusCode}`,
      })
    return {
      headers: { 'x-auth-token': token },
      renewAt: performance.now() + lifeMs(text) * RENEW_AFTER,
    }
  }
}

function lifeMs(text: string): number {
  try {
    const { token }: Static<typeof TokenBody> = checked(TokenBody, JSON.parse(text), 'A token')
    return Date.parse(token.expires_at) - Date.parse(token.issued_at)
  } catch (cause) {
    throw new Failure(
      'unavailable',
      'The server at the address of ironic’s Keystone is not a Keystone.',
      { cause },
    )
  }
}
