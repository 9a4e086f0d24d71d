import type { EnvReader } from '#common/env.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import type { KeystoneAccount } from './keystone/keystone.ts'

/** The identity service that tokens are of instead of the one in here. */
export interface ExternalIdentity {
  /** Ends in `/v3`. */
  readonly url: string
  readonly login: KeystoneAccount
  /** How long what it said of a token is believed. */
  readonly cacheS: number
}

const MODES = ['embedded', 'external'] as const
/** As of keystonemiddleware. */
const CACHE_S = 300
const DOMAIN = 'Default'

/** Reads GATEWAY_IDENTITY_* with a reader of GATEWAY_*; undefined: the identity service in here. */
export function readExternalIdentity(read: EnvReader): ExternalIdentity | undefined {
  if (read.choice('IDENTITY_MODE', MODES, 'embedded') === 'embedded') return undefined
  const url = withoutTrailing(read.text('IDENTITY_URL'), '/')
  return {
    url: url.endsWith('/v3') ? url : `${url}/v3`,
    login: {
      user: read.text('IDENTITY_USER'),
      userDomain: read.text('IDENTITY_USER_DOMAIN', DOMAIN),
      password: read.secret('IDENTITY_PASSWORD'),
      project: read.text('IDENTITY_PROJECT', 'service'),
      projectDomain: read.text('IDENTITY_PROJECT_DOMAIN', DOMAIN),
    },
    cacheS: read.integer('IDENTITY_CACHE_S', CACHE_S, 0, 3_600),
  }
}
