import { randomBytes } from 'node:crypto'
import { Failure } from '#common/errors.ts'
import {
  deleteApplicationCredential,
  findApplicationCredential,
  insertApplicationCredential,
  listApplicationCredentials,
} from '../../db/identity/application-credentials.ts'
import { roleModel } from '../../db/identity/roles.ts'
import { enforce } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import type { ApplicationCredential } from './application-credential.ts'
import { grantedRoles, type RoleChoice } from './granted-roles.ts'
import type { Identity } from './identity.ts'
import { newKeystoneId } from './keystone-id.ts'
import { type Listed, listed, READ_MAX } from './listed.ts'
import { hashPassword } from './password-hash.ts'
import type { RoleRef } from './token-view.ts'

/** A credential with the names of its roles. */
export interface CredentialView extends ApplicationCredential {
  readonly roles: readonly RoleRef[]
}

export interface NewCredential {
  readonly name: string
  readonly description: string | null
  /** Made up when null. */
  readonly secret: string | null
  readonly expiresAt: Date | null
  readonly unrestricted: boolean
  /** All roles of the token when undefined. */
  readonly roles: readonly RoleChoice[] | undefined
}

const SECRET_BYTES = 48

/**
 * Afterwards the secret stands for the caller in the project of the token. Only users themselves make theirs, and
 * not with a token of a restricted credential, or one leaked credential could make others that outlive it.
 */
export async function createCredential(
  identity: Identity,
  caller: Caller,
  userId: string,
  asked: NewCredential,
): Promise<{ readonly credential: CredentialView; readonly secret: string }> {
  requireSelf(caller, userId)
  requireDelegation(caller)
  if (caller.projectId === null)
    throw new Failure('forbidden', 'An application credential needs a token scoped to a project.')
  if (asked.expiresAt !== null && asked.expiresAt.getTime() <= identity.clock.now())
    throw new Failure('invalid', "'expires_at' must be in the future.")

  const roles = grantedRoles(await roleModel(identity.db), caller, asked.roles)
  const secret = asked.secret ?? randomBytes(SECRET_BYTES).toString('base64url')
  const credential = {
    id: newKeystoneId(),
    userId: caller.userId,
    projectId: caller.projectId,
    name: asked.name,
    description: asked.description,
    secretHash: await hashPassword(secret),
    unrestricted: asked.unrestricted,
    roleIds: roles.map(({ id }) => id),
    expiresAt: asked.expiresAt,
    createdAt: new Date(identity.clock.now()),
  }
  await insertApplicationCredential(identity.db, credential)
  return { credential: { ...credential, roles }, secret }
}

export async function credentialsOf(
  { db }: Identity,
  caller: Caller,
  userId: string,
  name: string | undefined,
): Promise<Listed<CredentialView>> {
  if (userId !== caller.userId) enforce(caller, 'identity:list_application_credentials:other')
  const [found, { roles }] = await Promise.all([
    listApplicationCredentials(db, userId, name, READ_MAX),
    roleModel(db),
  ])
  return listed(found.map((credential) => withRoles(credential, roles)))
}

export async function oneCredential(
  { db }: Identity,
  caller: Caller,
  userId: string,
  id: string,
): Promise<CredentialView> {
  if (userId !== caller.userId) enforce(caller, 'identity:get_application_credential:other')
  const [credential, { roles }] = await Promise.all([
    findApplicationCredential(db, id),
    roleModel(db),
  ])
  if (credential?.userId !== userId) throw noSuchCredential(id)
  return withRoles(credential, roles)
}

/** Afterwards neither the credential nor any token got with it is valid. */
export async function removeCredential(
  { db, cache }: Identity,
  caller: Caller,
  userId: string,
  id: string,
): Promise<void> {
  if (userId !== caller.userId) enforce(caller, 'identity:delete_application_credential:other')
  requireDelegation(caller)
  const credential = await findApplicationCredential(db, id)
  const isGone = credential?.userId !== userId || !(await deleteApplicationCredential(db, id))
  if (isGone) throw noSuchCredential(id)
  cache.dropAll()
}

function withRoles(credential: ApplicationCredential, roles: readonly RoleRef[]): CredentialView {
  return { ...credential, roles: roles.filter(({ id }) => credential.roleIds.includes(id)) }
}

function requireSelf(caller: Caller, userId: string): void {
  if (userId !== caller.userId)
    throw new Failure('forbidden', 'Application credentials can be made for oneself only.')
}

function requireDelegation(caller: Caller): void {
  if (!caller.mayDelegate)
    throw new Failure(
      'forbidden',
      'A restricted application credential cannot make or delete application credentials.',
    )
}

function noSuchCredential(id: string): Failure {
  return new Failure('not-found', `Application credential ${id} could not be found.`)
}
