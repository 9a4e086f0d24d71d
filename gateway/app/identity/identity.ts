import { hash } from 'node:crypto'
import { type Clock, systemClock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import type { Logger } from '#common/log.ts'
import { RunningReconciler } from '#common/reconciler.ts'
import { findToken } from '../../db/identity/tokens.ts'
import { RequestLimiter } from '../request-limiter.ts'
import { describeToken } from './describe-token.ts'
import { type Lockout, LoginThrottle } from './login-throttle.ts'
import { watchRevocations } from './revocation-watch.ts'
import { TokenCache } from './token-cache.ts'
import { tokenPurge } from './token-purge.ts'
import type { TokenVerifier } from './token-verifier.ts'
import type { TokenView } from './token-view.ts'

/** The embedded identity service: what its operations work with. */
export interface Identity extends TokenVerifier, AsyncDisposable {
  readonly db: Database
  readonly clock: Clock
  readonly cache: TokenCache
  readonly throttle: LoginThrottle
  /** Of tokens, by user; undefined where users may have as many as they like. */
  readonly tokenLimiter: RequestLimiter | undefined
  readonly region: string
  readonly tokenLifetimeS: number
  /** The present meaning of a valid token; undefined for any other. */
  viewOf(token: string): Promise<TokenView | undefined>
}

export interface IdentityOptions {
  readonly db: Database
  readonly log: Logger
  readonly region: string
  readonly tokenLifetimeS: number
  readonly lockout: Lockout
  /** Of each user; 0: any number. */
  readonly tokensPerMinute?: number
  readonly clock?: Clock
}

/** Afterwards tokens are verified, from memory where that is safe, and revocations are followed until disposed. */
export function createIdentity(options: IdentityOptions): Identity {
  const { db, log, region, tokenLifetimeS, lockout, clock = systemClock } = options
  const { tokensPerMinute = 0 } = options
  const cache = new TokenCache(clock)
  const running = new AsyncDisposableStack()
  running.use(watchRevocations({ db, cache, clock, log }))
  running.use(new RunningReconciler(tokenPurge(db, clock), clock, log))
  const loading = new Map<string, Promise<TokenView | undefined>>()

  const viewOfId = async (id: string): Promise<TokenView | undefined> =>
    cache.get(id) ?? coalesced(loading, id, () => loadToken({ db, cache, clock }, id))
  const viewOf = (token: string) => viewOfId(tokenId(token))
  return {
    db,
    clock,
    cache,
    throttle: new LoginThrottle(clock, lockout),
    tokenLimiter: tokensPerMinute === 0 ? undefined : new RequestLimiter(clock, tokensPerMinute),
    region,
    tokenLifetimeS,
    viewOf,
    callerOf: async (token) => (await viewOf(token))?.caller,
    callerOfId: async (id) => (await viewOfId(id))?.caller,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** The form in which a token is stored and cached: a reader of the database or of a heap dump cannot use it. */
export function tokenId(token: string): string {
  return hash('sha256', token, 'hex')
}

async function loadToken(
  { db, cache, clock }: Pick<Identity, 'db' | 'cache' | 'clock'>,
  id: string,
): Promise<TokenView | undefined> {
  const { mark } = cache
  const record = await findToken(db, id)
  const now = new Date(clock.now())
  if (record === undefined || record.expiresAt <= now) return undefined
  const view = await describeToken(db, record, now)
  if (view !== undefined) cache.put(view, mark)
  return view
}

/** One look-up at a time per token, however many requests come with it at once. */
function coalesced<T>(
  running: Map<string, Promise<T>>,
  key: string,
  start: () => Promise<T>,
): Promise<T> {
  const known = running.get(key)
  if (known !== undefined) return known
  const started = start().finally(() => running.delete(key))
  running.set(key, started)
  return started
}
