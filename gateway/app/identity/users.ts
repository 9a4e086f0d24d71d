import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { deleteUsers } from '../../db/identity/delete-identities.ts'
import { lockDomain } from '../../db/identity/domains.ts'
import { findProject } from '../../db/identity/projects.ts'
import { deleteTokens } from '../../db/identity/tokens.ts'
import {
  findUser,
  insertUser,
  listUsers,
  lockUser,
  replacePasswordHash,
  updateUser,
} from '../../db/identity/users.ts'
import type { Caller } from '../request-context.ts'
import { changeAccess } from './change-access.ts'
import { domainOfNew, enforceInDomain, listedDomain, reached } from './domain-reach.ts'
import type { Identity } from './identity.ts'
import { loginRefused } from './issue-token.ts'
import { type ListQuery, readPage } from './list-query.ts'
import { type Listed, NO_ENTRIES } from './listed.ts'
import { refuseAboveManager } from './managed-roles.ts'
import {
  boundedExtra,
  type Extra,
  newKeystoneId,
  noSuch,
  type User,
  type UserOptions,
} from './model.ts'
import { hashPassword } from './password-hash.ts'
import { verifyLogin } from './password-method.ts'

/** The users; with a token for a domain, the users of that domain. */
export async function allUsers(
  { db }: Identity,
  caller: Caller,
  query: ListQuery,
): Promise<Listed<User>> {
  const domainId = listedDomain(caller, query.domainId)
  if (domainId === null) return NO_ENTRIES
  return readPage(query, (filter, limit) => listUsers(db, { ...filter, domainId }, limit))
}

/** The caller, or any user for callers whom the rule lets see others. */
export async function oneUser(
  { db }: Identity,
  caller: Caller,
  id: string,
  othersRule = 'identity:get_user:other',
): Promise<User> {
  const user = await findUser(db, id)
  if (id !== caller.userId) enforceInDomain(caller, othersRule, user?.domain.id)
  if (user === undefined) throw noSuch('user', id)
  return user
}

/** Those that are given; undefined takes one away. */
export type ChangedOptions = { readonly [K in keyof UserOptions]: UserOptions[K] | undefined }

interface UserFields {
  readonly name: string
  /** Null: no password opens the account. */
  readonly password: string | null
  readonly defaultProjectId: string | null
  readonly email: string | null
  readonly description: string
  readonly enabled: boolean
  readonly options: ChangedOptions
  readonly extra: Extra
}

/** Throws `conflict` for a name the domain has. */
export async function createUser(
  identity: Identity,
  caller: Caller,
  asked: UserFields & { readonly domainId: string | undefined },
): Promise<User> {
  const domainId = domainOfNew(caller, asked.domainId)
  enforceInDomain(caller, 'identity:create_user', domainId)
  const passwordHash = await hashOf(asked.password)
  return identity.db.transaction(async (tx) => {
    const domain = await lockDomain(tx, domainId)
    if (domain === undefined) throw noSuch('domain', domainId)
    await requireProject(tx, asked.defaultProjectId)
    const { domainId: _, password: __, ...fields } = asked
    const user = {
      ...fields,
      options: setOptions({}, asked.options),
      extra: boundedExtra({}, asked.extra),
      id: newKeystoneId(),
      domain,
      isActive: asked.enabled && domain.enabled,
    }
    await insertUser(tx, user, passwordHash, new Date(identity.clock.now()))
    return user
  })
}

/** Afterwards the user is as given; a new password, or being disabled, ends every token of the user. */
export async function changeUser(
  identity: Identity,
  caller: Caller,
  id: string,
  asked: Partial<UserFields> & { readonly domainId?: string | undefined },
): Promise<User> {
  const { domainId, password, ...change } = asked
  const passwordHash = password === undefined ? undefined : await hashOf(password)
  return changeAccess(identity, async (tx) => {
    const before = reached(await lockUser(tx, id), 'user', id, caller, 'identity:update_user')
    await refuseAboveManager(tx, caller, { what: 'user', id }, 'identity:update_user')
    if (domainId !== undefined && domainId !== before.domain.id)
      throw new Failure('invalid', 'Update of `domain_id` is not allowed.')
    await requireProject(tx, change.defaultProjectId ?? null)
    const after = {
      ...before,
      ...change,
      options: setOptions(before.options, change.options ?? {}),
      extra: boundedExtra(before.extra, change.extra ?? {}),
    }
    await updateUser(tx, after, passwordHash)
    if (!after.enabled || passwordHash !== undefined) await deleteTokens(tx, { userIds: [id] })
    return after
  })
}

/** Afterwards the user is gone with everything that was the user's own. */
export async function removeUser(identity: Identity, caller: Caller, id: string): Promise<void> {
  await changeAccess(identity, async (tx) => {
    reached(await lockUser(tx, id), 'user', id, caller, 'identity:delete_user')
    await refuseAboveManager(tx, caller, { what: 'user', id }, 'identity:delete_user')
    await deleteUsers(tx, [id])
  })
}

function setOptions(before: UserOptions, change: ChangedOptions): UserOptions {
  const set = Object.entries({ ...before, ...change }).filter(([, value]) => value !== undefined)
  return Object.fromEntries(set)
}

async function hashOf(password: string | null): Promise<string | null> {
  return password === null ? null : hashPassword(password)
}

async function requireProject(tx: Tx, id: string | null): Promise<void> {
  if (id !== null && (await findProject(tx, id)) === undefined) throw noSuch('project', id)
}

/**
 * Afterwards the password is the new one and every token of the user is gone. A caller who knows the old password
 * needs no token; wrong ones count as failed logins.
 */
export async function changePassword(
  identity: Identity,
  userId: string,
  { original, password }: { readonly original: string; readonly password: string },
  peer: string,
): Promise<void> {
  const { user, passwordHash } = await verifyLogin(identity, { id: userId }, original, peer)
  if (user.options.lock_password === true)
    throw new Failure(
      'forbidden',
      'The password of this user can be changed by administrators only.',
    )
  const next = await hashPassword(password)
  await changeAccess(identity, async (tx) => {
    if (!(await replacePasswordHash(tx, userId, passwordHash, next)))
      throw loginRefused(`password change of ${userId}, which was changed meanwhile`)
    await deleteTokens(tx, { userIds: [userId] })
  })
}
