import { systemClock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import type { Logger } from '#common/log.ts'
import { createIdentity, type Identity } from './app/identity/identity.ts'
import type { TokenVerifier } from './app/identity/token-verifier.ts'
import type { GatewayConfig } from './config.ts'
import { Keystone } from './keystone/keystone.ts'
import { KeystoneClient } from './keystone/keystone-client.ts'
import { KeystoneSignIn } from './keystone/keystone-sign-in.ts'
import { KeystoneVerifier } from './keystone/keystone-verifier.ts'

/** Whose tokens count, and who signs in at the page. */
export interface IdentityParts {
  /** The identity service in here. */
  readonly identity: Identity
  /** Of `identity`, or of a Keystone elsewhere. */
  readonly verifier: TokenVerifier
  /** Undefined where people sign in with `identity`. */
  readonly keystoneSignIn: KeystoneSignIn | undefined
}

/** Afterwards tokens are verified, until the parts are disposed. */
export function openIdentity(
  parts: AsyncDisposableStack,
  config: GatewayConfig,
  db: Database,
  log: Logger,
): IdentityParts {
  const { region, tokenLifetimeS, lockout, userTokensPerMinute: tokensPerMinute } = config
  const { externalIdentity } = config
  const options = { db, log, region, tokenLifetimeS, lockout, tokensPerMinute }
  const identity = parts.use(createIdentity(options))
  if (externalIdentity === undefined)
    return { identity, verifier: identity, keystoneSignIn: undefined }
  const { url, login, cacheS } = externalIdentity
  const client = parts.use(new KeystoneClient(url))
  const verifier = new KeystoneVerifier(new Keystone(client, login), systemClock, 1_000 * cacheS)
  const { throttle } = identity
  const onRevoked = (token: string) => verifier.forget(token)
  const keystoneSignIn = new KeystoneSignIn({ client, throttle, log, onRevoked })
  return { identity, verifier, keystoneSignIn }
}
