import { Type } from 'typebox'
import { Failure } from '#common/errors.ts'
import type { Logger } from '#common/log.ts'
import { checked } from '#openapi/wire/checked.ts'
import { FairQueue, type QueueClient } from '../app/fair-queue.ts'
import type { LoginThrottle } from '../app/identity/login-throttle.ts'
import { refuseExhausted } from '../app/identity/password-method.ts'
import type { GivenToken, NamedProject, PasswordLogin, SignIn } from '../app/identity/sign-in.ts'
import { TooManyRequests } from '../app/request-limiter.ts'
import {
  type KeystoneAnswer,
  type KeystoneClient,
  passwordIdentity,
  readAs,
  TOKENS,
  tokenIn,
  unexpectedAnswer,
} from './keystone-client.ts'

const Projects = Type.Object({
  projects: Type.Array(Type.Object({ id: Type.String(), name: Type.String() })),
})

/** A quarter of the connections: tokens of all users are looked up over the same ones. */
const PARALLEL_MAX = 4
const WAITING_MAX = 100
const WAITING_PER_ACCOUNT_MAX = 50
const RETRY_AFTER_MS = 3_000

const WRONG =
  'The identity service does not accept this user, password and domain. It may also have locked or disabled the account.'
const NEEDS_MORE =
  'This user signs in with more than a password, for which the page has no field: get a token, and sign in with it.'
const NO_PROJECT =
  'The identity service gives no token for this project. Sign out, and sign in with its name.'
const NOT_NOW =
  'The identity service does not answer as it should, so nobody can sign in. Try again in a minute.'

export interface KeystoneSignInParts {
  readonly client: Pick<KeystoneClient, 'send'>
  readonly throttle: LoginThrottle
  readonly log: Logger
  /** A token that was revoked by this gateway. */
  readonly onRevoked: (token: string) => void
}

/**
 * Signs people in with their passwords of a Keystone. Before a password goes there, it waits for the turn of its peer,
 * and is refused after too many wrong ones from that peer for its account, as with the identity service in here.
 * Passwords are in no log and in no failure.
 */
export class KeystoneSignIn {
  readonly #parts: KeystoneSignInParts
  readonly #queue = new FairQueue({
    parallelMax: PARALLEL_MAX,
    waitingMax: WAITING_MAX,
    waitingPerAccountMax: WAITING_PER_ACCOUNT_MAX,
    refusal: () =>
      new TooManyRequests(
        'Too many people sign in at once. Please try again in some seconds.',
        RETRY_AFTER_MS,
      ),
  })

  constructor(parts: KeystoneSignInParts) {
    this.#parts = parts
  }

  /** The sign-in of somebody at this address. */
  from(peer: string): SignIn {
    return {
      byPassword: (login, { isScoped }) => this.#byPassword(peer, login, isScoped),
      projectsOf: (token) => this.#projectsOf(token),
      inProject: (token, projectId) => this.#inProject(token, projectId),
      revoke: (token) => this.#revoke(token),
    }
  }

  async #byPassword(peer: string, login: PasswordLogin, isScoped: boolean): Promise<GivenToken> {
    const asker = { peer, account: accountOf(login) }
    refuseExhausted(this.#parts, asker)
    return this.#queue.run(asker, async () => {
      // Those before it in the queue may have been the last that were allowed.
      refuseExhausted(this.#parts, asker)
      return this.#prove(asker, login, isScoped)
    })
  }

  async #prove(
    asker: QueueClient,
    { name, password, domain }: PasswordLogin,
    isScoped: boolean,
  ): Promise<GivenToken> {
    const { client, throttle, log } = this.#parts
    const identity = passwordIdentity(name, password, domain)
    const auth = { identity, ...(!isScoped && { scope: 'unscoped' }) }
    const answer = await client.send('POST', TOKENS, { body: { auth } })
    if (answer.statusCode === 401) {
      await answer.body.dump()
      // The password was right, and Keystone asks for a second proof.
      if (answer.headers['openstack-auth-receipt'] !== undefined)
        throw new Failure('unauthenticated', NEEDS_MORE)
      throttle.failed(asker)
      throw new Failure('unauthenticated', WRONG)
    }
    const { given, userId } = await givenToken(answer)
    throttle.succeeded(asker)
    log.info({ user_id: userId, peer: asker.peer }, 'signed in at the page')
    return given
  }

  async #projectsOf(token: string): Promise<readonly NamedProject[]> {
    const answer = await this.#parts.client.send('GET', '/auth/projects', { token })
    if (answer.statusCode === 200)
      return readAs(answer, (body) => checked(Projects, body, 'projects of Keystone').projects)
    if (answer.statusCode !== 401) throw await unexpectedAnswer(answer, NOT_NOW)
    await answer.body.dump()
    throw new Failure('unauthenticated', 'The token is not valid, or has expired.')
  }

  async #inProject(token: string, id: string): Promise<GivenToken> {
    const identity = { methods: ['token'], token: { id: token } }
    const auth = { identity, scope: { project: { id } } }
    const answer = await this.#parts.client.send('POST', TOKENS, { body: { auth } })
    if (answer.statusCode !== 401 && answer.statusCode !== 403)
      return (await givenToken(answer)).given
    await answer.body.dump()
    throw new Failure('forbidden', NO_PROJECT)
  }

  async #revoke(token: string): Promise<void> {
    const answer = await this.#parts.client.send('DELETE', TOKENS, { token, subject: token })
    await answer.body.dump()
    this.#parts.onRevoked(token)
  }
}

async function givenToken(
  answer: KeystoneAnswer,
): Promise<{ readonly given: GivenToken; readonly userId: string }> {
  const token = answer.headers['x-subject-token']
  if (answer.statusCode === 400) {
    await answer.body.dump()
    throw new Failure('invalid', 'The identity service cannot read this user, domain or project.')
  }
  if (answer.statusCode !== 201 || typeof token !== 'string')
    throw await unexpectedAnswer(answer, NOT_NOW)
  const { expires_at, project, user } = await tokenIn(answer)
  const given = { token, expiresAt: new Date(expires_at), hasProject: project !== undefined }
  return { given, userId: user.id }
}

/** Keystone's databases compare names without their case and the spaces at their end. */
function accountOf({ name, domain }: PasswordLogin): string {
  return [domain, name].map((each) => each.normalize('NFKC').trim().toLowerCase()).join('\0')
}
