import { Failure } from '#common/errors.ts'
import { findUser } from '../../db/identity/users.ts'
import type { Identity } from './identity.ts'
import { loginRefused, type Proof } from './issue-token.ts'
import type { LoginRequest } from './login-request.ts'

/** Proves a user by a valid token, for another scope. An application credential's token cannot leave its project, nor one of a trust the trust. */
export async function proveToken(
  identity: Identity,
  request: LoginRequest['identity']['token'],
): Promise<Proof> {
  if (request === undefined) throw new Failure('invalid', "Method 'token' needs 'identity.token'.")
  const view = await identity.viewOf(request.id)
  if (view === undefined) throw loginRefused('token login with an invalid token')
  if (view.applicationCredential !== null)
    throw loginRefused('token login with the token of an application credential')
  if (view.trust !== null)
    throw new Failure(
      'forbidden',
      'A token of a trust cannot be exchanged for another one. Log in with the trust again.',
    )
  const user = await findUser(identity.db, view.user.id)
  const { expiresAt, auditChainId, methods } = view.record
  return {
    userId: view.user.id,
    defaultProjectId: user?.defaultProjectId ?? null,
    methods: [...new Set([...methods, 'token'])],
    applicationCredentialId: null,
    endsAt: null,
    parent: { expiresAt, auditChainId },
  }
}
