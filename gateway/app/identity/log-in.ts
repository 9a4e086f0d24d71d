import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { findDomainByName } from '../../db/identity/domains.ts'
import { findProjectByName } from '../../db/identity/projects.ts'
import { findUser } from '../../db/identity/users.ts'
import { proveCredential } from './credential-method.ts'
import type { Identity } from './identity.ts'
import { type IssuedToken, issueToken, loginRefused, type Proof } from './issue-token.ts'
import type { DomainChoice, LoginRequest, NamedChoice, ScopeRequest } from './login-request.ts'
import { provePassword } from './password-method.ts'
import { tokenByTrust } from './token-by-trust.ts'
import type { Scope } from './token-view.ts'

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
          'An application credential already has a scope: leave scope out of the request.',
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

const NO_SCOPE: Scope = { type: 'none', id: '' }
const SYSTEM_SCOPE: Scope = { type: 'system', id: '' }

/**
 * The scope that a login names; undefined when there is no such project or domain. Throws `invalid` for an incomplete
 * scope.
 */
async function requestedScope(db: Executor, request: ScopeRequest): Promise<Scope | undefined> {
  if (request === 'unscoped' || request.unscoped !== undefined) return NO_SCOPE
  if (request.system !== undefined) return SYSTEM_SCOPE
  if (request.project !== undefined) return projectScope(db, request.project)
  if (request.domain !== undefined) return domainScope(db, request.domain)
  throw new Failure(
    'invalid',
    "auth.scope needs 'project', 'domain', 'system', 'OS-TRUST:trust' or 'unscoped'.",
  )
}

async function projectScope(
  db: Executor,
  { id, name, domain }: NamedChoice,
): Promise<Scope | undefined> {
  if (id !== undefined) return { type: 'project', id }
  if (name === undefined || (domain?.id === undefined && domain?.name === undefined))
    throw new Failure(
      'invalid',
      "auth.scope.project needs an 'id', or a 'name' and a 'domain' with 'id' or 'name'.",
    )
  const project = await findProjectByName(db, name, domain)
  return project === undefined ? undefined : { type: 'project', id: project.id }
}

async function domainScope(db: Executor, { id, name }: DomainChoice): Promise<Scope | undefined> {
  if (id !== undefined) return { type: 'domain', id }
  const domain = name === undefined ? undefined : await findDomainByName(db, name)
  return domain === undefined ? undefined : { type: 'domain', id: domain.id }
}

/** Proves a user by a valid token, for another scope. An application credential's token cannot leave its project, nor one of a trust the trust. */
async function proveToken(
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
