import { Failure } from '#common/errors.ts'
import type { TokenVerifier } from '../app/identity/token-verifier.ts'
import type { Caller } from '../app/request-context.ts'
import type { HttpInput } from './http-input.ts'

/** Longer than any token issued here or by a Keystone (Fernet tokens stay under 255, JWS under 4 KiB). */
const TOKEN_LENGTH_MAX = 4_096

/** Who holds the token of X-Auth-Token; throws `unauthenticated` when there is none, or it is not valid (any more). */
export async function authenticate(
  verifier: TokenVerifier,
  { header }: HttpInput,
): Promise<Caller> {
  const token = header('x-auth-token')
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
  return caller
}
