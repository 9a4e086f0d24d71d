import { LRUCache } from 'lru-cache'
import type { Clock } from '#common/clock.ts'
import { tokenId } from '../app/identity/identity.ts'
import type { TokenVerifier } from '../app/identity/token-verifier.ts'
import type { Caller } from '../app/request-context.ts'
import type { Keystone } from './keystone.ts'
import { callerFrom } from './keystone-token.ts'

const TOKENS_MAX = 10_000
/** A token that is not valid may be asked for again and again, and seldom becomes valid. */
const INVALID_MS = 5_000

/** Null: it is not valid. */
interface Known {
  readonly caller: Caller | null
  /** By the clock that only runs forward. */
  readonly until: number
}

/**
 * Verifies tokens of a Keystone. Requests that come at the same time with one token share a look-up, which is repeated
 * after `cacheMs`: for so long a revoked token may still be accepted here.
 */
export class KeystoneVerifier implements TokenVerifier {
  readonly #keystone: Pick<Keystone, 'tokenOf'>
  readonly #clock: Clock
  readonly #cacheMs: number
  readonly #known = new LRUCache<string, Known>({ max: TOKENS_MAX })
  readonly #asking = new Map<string, Promise<Known>>()

  constructor(keystone: Pick<Keystone, 'tokenOf'>, clock: Clock, cacheMs: number) {
    this.#keystone = keystone
    this.#clock = clock
    this.#cacheMs = cacheMs
  }

  async callerOf(token: string): Promise<Caller | undefined> {
    const id = tokenId(token)
    const { caller } = this.#fresh(id) ?? (await this.#ask(id, token))
    return caller ?? undefined
  }

  /** The last answer about the token, if it is recent. */
  async callerOfId(id: string): Promise<Caller | undefined | 'unknown'> {
    const known = this.#fresh(id)
    return known === undefined ? 'unknown' : (known.caller ?? undefined)
  }

  /** Afterwards the token is asked about again. */
  forget(token: string): void {
    this.#known.delete(tokenId(token))
  }

  #fresh(id: string): Known | undefined {
    const known = this.#known.get(id)
    return known !== undefined && known.until > this.#clock.elapsed() ? known : undefined
  }

  #ask(id: string, token: string): Promise<Known> {
    const asking = this.#asking.get(id)
    if (asking !== undefined) return asking
    const asked = this.#verify(id, token).finally(() => this.#asking.delete(id))
    this.#asking.set(id, asked)
    return asked
  }

  async #verify(id: string, token: string): Promise<Known> {
    const verified = await this.#keystone.tokenOf(token)
    const now = this.#clock.elapsed()
    const leftMs = verified === undefined ? 0 : Date.parse(verified.expires_at) - this.#clock.now()
    const known: Known =
      verified !== undefined && leftMs > 0
        ? { caller: callerFrom(verified, id), until: now + Math.min(leftMs, this.#cacheMs) }
        : { caller: null, until: now + Math.min(INVALID_MS, this.#cacheMs) }
    this.#known.set(id, known)
    return known
  }
}
