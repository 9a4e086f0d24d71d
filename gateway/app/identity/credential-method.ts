import { Failure } from '#common/errors.ts'
import {
  findApplicationCredential,
  listApplicationCredentials,
} from '../../db/identity/application-credentials.ts'
import { findLogin } from '../../db/identity/users.ts'
import type { Identity } from './identity.ts'
import { loginRefused, type Proof } from './issue-token.ts'
import type { LoginRequest } from './login-request.ts'
import type { ApplicationCredential } from './model.ts'
import { DUMMY_HASH, verifyPassword } from './password-hash.ts'
import { refuseExhausted } from './password-method.ts'
import { userReference } from './user-reference.ts'

type Request = NonNullable<LoginRequest['identity']['application_credential']>

/** The proof of an application credential: its user, and the one project that it is for. */
export interface CredentialProof {
  readonly proof: Proof
  readonly projectId: string
}

/** Proves a user by application credential; throws `unauthenticated`, after the same work whether or not it exists. */
export async function proveCredential(
  identity: Identity,
  request: Request | undefined,
  peer: string,
): Promise<CredentialProof> {
  if (request === undefined)
    throw new Failure(
      'invalid',
      "Method 'application_credential' needs 'identity.application_credential'.",
    )
  const credential = await findCredential(identity, request)
  const account = credential?.id ?? request.id ?? JSON.stringify([request.user, request.name])
  const asker = { peer, account }
  refuseExhausted(identity, asker)

  const isRight = await verifyPassword(request.secret, credential?.secretHash ?? DUMMY_HASH, asker)
  if (credential === undefined || !isRight) {
    identity.throttle.failed(asker)
    throw loginRefused(`application credential login of ${account}`)
  }
  identity.throttle.succeeded(asker)
  const proof = {
    userId: credential.userId,
    defaultProjectId: null,
    methods: ['application_credential'],
    applicationCredentialId: credential.id,
    endsAt: credential.expiresAt,
    parent: undefined,
  }
  return { proof, projectId: credential.projectId }
}

async function findCredential(
  { db }: Identity,
  request: Request,
): Promise<ApplicationCredential | undefined> {
  if (request.id !== undefined) return findApplicationCredential(db, request.id)
  if (request.name === undefined || request.user === undefined)
    throw new Failure(
      'invalid',
      "identity.application_credential needs an 'id', or a 'name' and the 'user' it belongs to.",
    )
  const who = userReference(request.user, 'identity.application_credential.user')
  const login = await findLogin(db, who)
  if (login === undefined) return undefined
  const [credential] = await listApplicationCredentials(
    db,
    login.user.id,
    { name: request.name },
    1,
  )
  return credential
}
