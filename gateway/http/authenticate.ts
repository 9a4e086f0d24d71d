import { Failure } from '#common/errors.ts'
import type { TokenVerifier } from '../app/identity/token-verifier.ts'
import type { Caller } from '../app/request-context.ts'
import type { HeaderReader, HttpInput } from './http-input.ts'
import { sessionToken } from './session-cookie.ts'

/** Longer than any token issued here or by a Keystone (Fernet tokens stay under 255, JWS under 4 KiB). */
const TOKEN_LENGTH_MAX = 4_096

/**
 * Who holds the token of X-Auth-Token, or of the page's cookie; throws `unauthenticated` when there is none, or it is not valid (any more), and
 * when a service's own token was sent beside it that is not. Nothing is granted for a service's token.
 */
export async function authenticate(
  verifier: TokenVerifier,
  { header }: HttpInput,
): Promise<Caller> {
  const token = tokenOf(header)
  if (token === undefined || token === '' || token.length > TOKEN_LENGTH_MAX)
    throw new Failure(
      'unauthenticated',
      'Authentication is required: send a token in X-Auth-Token.',
    )
  const caller = await verifier.callerOf(token)
  if (caller === undefined)
    throw new Failure(
      'unauthenticated',
      'The token is not valid, or has expired: ask for a new one.',
    )
  const service = header('x-service-token')
  if (service !== undefined && (await serviceOf(verifier, service)) === undefined)
    throw new Failure(
      'unauthenticated',
      'The token in X-Service-Token is not valid, or has expired: ask for a new one, or leave it out.',
    )
  return caller
}

/** The token that a request is made with: its own, or that of the page's session. */
export function tokenOf(header: HeaderReader): string | undefined {
  return header('x-auth-token') ?? sessionToken(header)
}

async function serviceOf(verifier: TokenVerifier, token: string): Promise<Caller | undefined> {
  return token === '' || token.length > TOKEN_LENGTH_MAX ? undefined : verifier.callerOf(token)
}
