import { Failure } from '#common/errors.ts'
import { proveCredential } from './credential-method.ts'
import type { Identity } from './identity.ts'
import { type IssuedToken, issueToken, loginRefused, type Proof } from './issue-token.ts'
import type { LoginRequest, ScopeRequest } from './login-request.ts'
import { provePassword } from './password-method.ts'
import { NO_SCOPE, requestedScope } from './requested-scope.ts'
import { tokenByTrust } from './token-by-trust.ts'
import { proveToken } from './token-method.ts'

/**
 * A token for what the request proves, in the scope it asks for; throws `unauthenticated`, `forbidden` or `invalid`, and
 * `unavailable` while too many log in. `peer`: where from, with which it shares the place to wait.
 */
export async function logIn(
  identity: Identity,
  request: LoginRequest,
  peer: string,
): Promise<IssuedToken> {
  const { methods, password, token, application_credential } = request.identity
  const [method = '', ...others] = methods
  if (others.length > 0)
    throw new Failure('unauthenticated', 'Only one authentication method at a time is supported.')
  switch (method) {
    case 'password':
      return scoped(identity, await provePassword(identity, password, peer), request.scope)
    case 'token':
      return scoped(identity, await proveToken(identity, token), request.scope)
    case 'application_credential': {
      if (request.scope !== undefined)
        throw new Failure(
          'unauthenticated',
          'An application credential has its scope: ask for none.',
        )
      const { proof, projectId } = await proveCredential(identity, application_credential, peer)
      return issued(await issueToken(identity, proof, { type: 'project', id: projectId }))
    }
    default:
      throw new Failure(
        'unauthenticated',
        `Authentication method '${method}' is not supported: use password, token or application_credential.`,
      )
  }
}

/** Without a scope in the request, the default project is tried, and no scope at all if it cannot be had. */
async function scoped(
  identity: Identity,
  proof: Proof,
  request: ScopeRequest | undefined,
): Promise<IssuedToken> {
  const trust = typeof request === 'object' ? request['OS-TRUST:trust'] : undefined
  if (trust !== undefined) return tokenByTrust(identity, proof, trust.id)
  if (request !== undefined) {
    const scope = await requestedScope(identity.db, request)
    return issued(scope && (await issueToken(identity, proof, scope)))
  }
  const { defaultProjectId } = proof
  const inDefault =
    defaultProjectId === null
      ? undefined
      : await issueToken(identity, proof, { type: 'project', id: defaultProjectId })
  return inDefault ?? issued(await issueToken(identity, proof, NO_SCOPE))
}

function issued(token: IssuedToken | undefined): IssuedToken {
  if (token === undefined) throw loginRefused('the scope cannot be had')
  return token
}
