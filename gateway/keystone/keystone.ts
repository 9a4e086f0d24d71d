import {
  type KeystoneAnswer,
  type KeystoneClient,
  passwordIdentity,
  TOKENS,
  tokenIn,
  unexpectedAnswer,
} from './keystone-client.ts'
import type { KeystoneToken } from './keystone-token.ts'

/** The account with which tokens are looked up. */
export interface KeystoneAccount {
  readonly user: string
  readonly userDomain: string
  readonly password: string
  readonly project: string
  readonly projectDomain: string
}

const UNKNOWN = 'The identity service could not tell whose token this is.'

/** Looks up tokens in an external Keystone, with an account of the gateway's own. */
export class Keystone {
  readonly #client: KeystoneClient
  readonly #account: KeystoneAccount
  #own: Promise<string> | undefined

  constructor(client: KeystoneClient, account: KeystoneAccount) {
    this.#client = client
    this.#account = account
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
    if (answer.statusCode !== 200) throw await unexpectedAnswer(answer, UNKNOWN)
    return tokenIn(answer)
  }

  async #repeatRequest(refused: KeystoneAnswer, token: string): Promise<KeystoneAnswer> {
    await refused.body.dump()
    this.#own = undefined
    return this.#ask(token)
  }

  async #ask(subject: string): Promise<KeystoneAnswer> {
    return this.#client.send('GET', TOKENS, { token: await this.#ownToken(), subject })
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
    const { user, userDomain, password, project, projectDomain } = this.#account
    const identity = passwordIdentity(user, password, userDomain)
    const scope = { project: { name: project, domain: { name: projectDomain } } }
    const answer = await this.#client.send('POST', TOKENS, { body: { auth: { identity, scope } } })
    const token = answer.headers['x-subject-token']
    if (answer.statusCode !== 201 || typeof token !== 'string')
      throw await unexpectedAnswer(answer, UNKNOWN)
    await answer.body.dump()
    return token
  }
}
