import { randomBytes } from 'node:crypto'
import type { Executor, Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { ensureAccessRule, listAccessRules } from '../../db/identity/access-rules.ts'
import {
  type CredentialFilter,
  countApplicationCredentials,
  deleteApplicationCredential,
  findApplicationCredential,
  insertApplicationCredential,
  listApplicationCredentials,
} from '../../db/identity/application-credentials.ts'
import { roleModel } from '../../db/identity/roles.ts'
import { deleteTokens } from '../../db/identity/tokens.ts'
import { lockUser } from '../../db/identity/users.ts'
import { enforce } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import { type AccessRule, rulesOf } from './access-rule.ts'
import { changeAccess } from './change-access.ts'
import { grantedRoles, type RoleChoice } from './effective-assignments.ts'
import type { Identity } from './identity.ts'
import { type Listed, listed, READ_MAX, readLimit } from './listed.ts'
import { type ApplicationCredential, newKeystoneId, noSuch } from './model.ts'
import { hashPassword } from './password-hash.ts'
import type { RoleRef } from './token-view.ts'

/** A credential with the names of its roles, and its rules. */
export interface CredentialView extends ApplicationCredential {
  readonly roles: readonly RoleRef[]
  readonly accessRules: readonly AccessRule[] | null
}

/** An access rule there is, by id, or what one must say. */
export type RuleChoice = Partial<AccessRule>

export interface NewCredential {
  readonly name: string
  readonly description: string | null
  /** Made up when null. */
  readonly secret: string | null
  readonly expiresAt: Date | null
  readonly unrestricted: boolean
  /** All roles of the token when undefined. */
  readonly roles: readonly RoleChoice[] | undefined
  /** Any request when undefined. */
  readonly accessRules: readonly RuleChoice[] | undefined
}

const SECRET_BYTES = 48
/** Of one user in one project: a program that makes one per run must not fill the table. */
const CREDENTIALS_MAX = 100

/**
 * Afterwards the secret authenticates the caller in the project of the token. Only users themselves create theirs, and
 * not with a token of a restricted credential: otherwise a leaked credential could create others that outlive it.
 */
export async function createCredential(
  identity: Identity,
  caller: Caller,
  userId: string,
  asked: NewCredential,
): Promise<{ readonly credential: CredentialView; readonly secret: string }> {
  requireSelf(caller, userId)
  refuseDelegated(caller)
  requireDelegation(caller)
  const { projectId } = caller
  if (projectId === null)
    throw new Failure('forbidden', 'An application credential needs a token scoped to a project.')
  if (asked.expiresAt !== null && asked.expiresAt.getTime() <= identity.clock.now())
    throw new Failure('invalid', "'expires_at' must be in the future.")

  const roles = grantedRoles(await roleModel(identity.db), caller, asked.roles)
  const secret = asked.secret ?? randomBytes(SECRET_BYTES).toString('base64url')
  const secretHash = await hashPassword(secret)
  const credential = await identity.db.transaction(async (tx) => {
    // The user's row is what counting and inserting at once wait for.
    if ((await lockUser(tx, userId)) === undefined) throw noSuch('user', userId)
    if ((await countApplicationCredentials(tx, userId, projectId)) >= CREDENTIALS_MAX)
      throw new Failure(
        'over-quota',
        `Unable to create additional application credentials, maximum of ${CREDENTIALS_MAX} already exceeded for user.`,
      )
    const accessRules = await chosenRules(tx, userId, asked.accessRules)
    const made = {
      id: newKeystoneId(),
      userId: caller.userId,
      projectId,
      name: asked.name,
      description: asked.description,
      secretHash,
      unrestricted: asked.unrestricted,
      roleIds: roles.map(({ id }) => id),
      accessRuleIds: accessRules?.map(({ id }) => id) ?? null,
      expiresAt: asked.expiresAt,
      createdAt: new Date(identity.clock.now()),
    }
    await insertApplicationCredential(tx, made)
    return { ...made, roles, accessRules }
  })
  return { credential, secret }
}

/** A page of a user's application credentials. Throws `forbidden` for another user's, or for a delegated token. */
export async function credentialsOf(
  { db }: Identity,
  caller: Caller,
  userId: string,
  { limit, ...filter }: CredentialFilter & { readonly limit?: number | undefined },
): Promise<Listed<CredentialView>> {
  if (userId !== caller.userId) enforce(caller, 'identity:list_application_credentials:other')
  refuseDelegated(caller)
  const found = await listApplicationCredentials(db, userId, filter, readLimit(limit))
  return listed(await views(db, userId, found), limit)
}

/** Throws `not-found`, and `forbidden` for another user's credential or a delegated token. */
export async function oneCredential(
  { db }: Identity,
  caller: Caller,
  userId: string,
  id: string,
): Promise<CredentialView> {
  if (userId !== caller.userId) enforce(caller, 'identity:get_application_credential:other')
  refuseDelegated(caller)
  const credential = await findApplicationCredential(db, id)
  const [view] = credential?.userId === userId ? await views(db, userId, [credential]) : []
  if (view === undefined) throw noSuch('application credential', id)
  return view
}

/** Afterwards neither the credential nor any token got with it is valid. */
export async function removeCredential(
  identity: Identity,
  caller: Caller,
  userId: string,
  id: string,
): Promise<void> {
  if (userId !== caller.userId) enforce(caller, 'identity:delete_application_credential:other')
  refuseDelegated(caller)
  requireDelegation(caller)
  const credential = await findApplicationCredential(identity.db, id)
  if (credential?.userId !== userId) throw noSuch('application credential', id)
  await changeAccess(identity, async (tx) => {
    await deleteApplicationCredential(tx, id)
    await deleteTokens(tx, { credentialId: id })
  })
}

async function views(
  db: Executor,
  userId: string,
  found: readonly ApplicationCredential[],
): Promise<readonly CredentialView[]> {
  const ruleIds = found.flatMap(({ accessRuleIds }) => accessRuleIds ?? [])
  const [{ roles }, rules] = await Promise.all([
    roleModel(db),
    listAccessRules(db, userId, { ids: ruleIds }, READ_MAX),
  ])
  return found.map((credential) => ({
    ...credential,
    roles: roles.filter(({ id }) => credential.roleIds.includes(id)),
    accessRules:
      credential.accessRuleIds === null ? null : rulesOf(credential.accessRuleIds, rules),
  }))
}

/** The rules asked for, made where the user has none of that content. */
async function chosenRules(
  tx: Tx,
  userId: string,
  asked: readonly RuleChoice[] | undefined,
): Promise<readonly AccessRule[] | null> {
  if (asked === undefined || asked.length === 0) return null
  const rules: AccessRule[] = []
  // Lists are in the order of ids: new ones are listed as they were asked for.
  const ids = asked.map(() => newKeystoneId()).toSorted()
  for (const [nth, { id, service, method, path }] of asked.entries()) {
    if (id !== undefined) {
      const [known] = await listAccessRules(tx, userId, { ids: [id] }, 1)
      if (known === undefined) throw noSuch('access rule', id)
      rules.push(known)
      continue
    }
    if (service === undefined || method === undefined || path === undefined)
      throw new Failure(
        'invalid',
        "An access rule needs 'service', 'method' and 'path', or an 'id'.",
      )
    const rule = { id: ids[nth]!, service, method, path }
    rules.push({ ...rule, id: await ensureAccessRule(tx, userId, rule) })
  }
  return rules
}

function requireSelf(caller: Caller, userId: string): void {
  if (userId !== caller.userId)
    throw new Failure('forbidden', 'Users can create application credentials only for themselves.')
}

/** Throws `forbidden` for a delegated token: an application credential would outlive the trust or the access key. */
export function refuseDelegated({ mayDelegate, applicationCredentialId }: Caller): void {
  if (!mayDelegate && applicationCredentialId === null)
    throw new Failure(
      'forbidden',
      'A token of a trust or an access key cannot see, create or delete application credentials and access rules.',
    )
}

function requireDelegation(caller: Caller): void {
  if (!caller.mayDelegate)
    throw new Failure(
      'forbidden',
      'A restricted application credential cannot create or delete application credentials.',
    )
}
