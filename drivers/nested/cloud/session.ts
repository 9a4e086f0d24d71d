import type { Readable } from 'node:stream'
import { type Static, Type } from 'typebox'
import { Failure } from '#common/errors.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import { checked } from '#openapi/wire/checked.ts'
import { abortable } from '../../abortable.ts'
import { tokenRequest } from '../../token-request.ts'
import type { NestedSettings } from '../settings.ts'
import { Catalog, type Endpoints, endpointsOf } from './catalog.ts'
import { checkCloudUrl } from './check-address.ts'
import { cloudFailure } from './cloud-failure.ts'
import { Id } from './id.ts'

/** A token of the project below, and where its services are. */
export interface Access {
  readonly token: string
  readonly projectId: string
  readonly userId: string
  readonly endpoints: Endpoints
  /** Epoch milliseconds by our clock. */
  readonly renewAt: number
}

/** Sends one request as it is and gives the whole answer. */
export type Send = (message: Message, signal: AbortSignal) => Promise<Sent>

export interface Message {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Readable | null
  readonly idleTimeoutMs?: number
}

export interface Sent {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

const TokenBody = Type.Object({
  token: Type.Object({
    expires_at: Type.String(),
    issued_at: Type.String(),
    project: Type.Optional(Type.Object({ id: Id })),
    user: Type.Object({ id: Type.String() }),
    catalog: Type.Optional(Catalog),
  }),
})
type Token = Static<typeof TokenBody>['token']

/** A token is renewed when this part of its life is over. */
const RENEW_AFTER = 0.8
const LOGIN_MS = 60_000

/** Called with the project of every token before it is used; throws for one that must not be used. */
export type ProjectCheck = (projectId: string) => Promise<void>

/** Logs in once for all who ask at the same time, and again before the token ends or when it is refused. */
export class Session {
  readonly #settings: NestedSettings
  readonly #send: Send
  readonly #url: URL
  readonly #check: ProjectCheck | undefined
  #access: Promise<Access> | undefined

  /** Throws `invalid` for an address that the settings do not allow. */
  constructor(settings: NestedSettings, send: Send, check: ProjectCheck | undefined) {
    this.#settings = settings
    this.#check = check
    this.#send = send
    const base = withoutTrailing(settings.authUrl, '/').replace(/\/v3$/, '')
    this.#url = checkCloudUrl('auth_url', `${base}/v3/auth/tokens`, settings)
  }

  async access(signal: AbortSignal): Promise<Access> {
    signal.throwIfAborted()
    // Of all who wait none may end it for the others.
    const asked = (this.#access ??= this.#logIn(AbortSignal.timeout(LOGIN_MS)))
    try {
      const access = await abortable(asked, signal)
      if (performance.now() < access.renewAt) return access
    } catch (error) {
      if (this.#access === asked && !signal.aborted) this.#access = undefined
      throw error
    }
    if (this.#access === asked) this.#access = undefined
    return this.access(signal)
  }

  /** The next call logs in again, unless somebody has since. */
  async drop(refused: Access): Promise<void> {
    const current = await this.#access?.catch(() => undefined)
    if (current === refused) this.#access = undefined
  }

  async #logIn(signal: AbortSignal): Promise<Access> {
    const { status, headers, text } = await this.#send(
      {
        method: 'POST',
        url: this.#url,
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(tokenRequest(this.#settings.login())),
      },
      signal,
    )
    if (status === 401)
      throw new Failure('unavailable', 'The nested cloud refuses the credential of this host.')
    const token = headers['x-subject-token']
    if (status !== 201 || typeof token !== 'string')
      throw cloudFailure({ what: 'POST /v3/auth/tokens', status, body: text })
    const access = accessOf(token, parsed(text), this.#settings)
    await this.#check?.(access.projectId)
    return access
  }
}

function parsed(text: string): Token {
  try {
    return checked(TokenBody, JSON.parse(text), 'A token').token
  } catch (cause) {
    throw new Failure(
      'unavailable',
      'The server at the address of the cloud’s Keystone is not a Keystone.',
      { cause },
    )
  }
}

function accessOf(token: string, body: Token, settings: NestedSettings): Access {
  const { project, user, catalog = [] } = body
  if (project === undefined)
    throw new Failure('unavailable', 'The credential of this host is for no project.')
  const lifeMs = Date.parse(body.expires_at) - Date.parse(body.issued_at)
  if (!(lifeMs > 0))
    throw new Failure('unavailable', 'The nested cloud issues tokens that have already expired.')
  return {
    token,
    projectId: project.id,
    userId: user.id,
    endpoints: endpointsOf(catalog, project.id, settings),
    renewAt: performance.now() + lifeMs * RENEW_AFTER,
  }
}
