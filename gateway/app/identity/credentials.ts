import { hash } from 'node:crypto'
import { Failure } from '#common/errors.ts'
import type { Secrets } from '#common/secrets.ts'
import {
  type CredentialFilter,
  countCredentials,
  deleteCredential,
  findCredential,
  insertCredential,
  listCredentials,
  replaceBlob,
  type StoredCredential,
} from '../../db/identity/credentials.ts'
import { findProject } from '../../db/identity/projects.ts'
import { findUser, lockUser } from '../../db/identity/users.ts'
import { isAllowed } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import { enforceInDomain } from './domain-reach.ts'
import type { Identity } from './identity.ts'
import { type Listed, listed, readLimit } from './listed.ts'
import { newKeystoneId, noSuch } from './model.ts'

/** The dependencies of operations on credentials; the secrets of all gateways seal them. */
export interface CredentialDeps {
  readonly identity: Identity
  readonly compute: { readonly secrets: Secrets }
}

/** Something of a user that other services ask for, such as an access key. */
export interface Credential {
  readonly id: string
  readonly userId: string
  /** Null: of none. */
  readonly projectId: string | null
  readonly type: string
  /** Depends on the type; of type `ec2`, JSON with `access` and `secret`. */
  readonly blob: string
}

export const EC2 = 'ec2'
const OF_A_USER_MAX = 100

/** Those that the caller may see: the caller's own, or everybody's. */
export async function credentialsSeenBy(
  deps: CredentialDeps,
  caller: Caller,
  { limit, ...filter }: CredentialFilter & { readonly limit?: number | undefined },
): Promise<Listed<Credential>> {
  refuseDelegated(caller)
  const seesAll = isAllowed(caller, 'identity:list_credentials:other')
  if (!seesAll && filter.userId !== undefined && filter.userId !== caller.userId)
    return listed([], limit)
  const asked = seesAll ? filter : { ...filter, userId: caller.userId }
  const found = listed(await listCredentials(deps.identity.db, asked, readLimit(limit)), limit)
  return { ...found, items: found.items.map((row) => openedCredential(deps, row)) }
}

/** Throws `forbidden` for another user's without `othersRule`, whether it is there or not, then `not-found`. */
export async function oneCredential(
  deps: CredentialDeps,
  caller: Caller,
  id: string,
  othersRule = 'identity:get_credential:other',
): Promise<Credential> {
  refuseDelegated(caller)
  const row = await findCredential(deps.identity.db, id)
  if (row?.userId !== caller.userId) enforceInDomain(caller, othersRule, undefined)
  if (row === undefined) throw noSuch('credential', id)
  return openedCredential(deps, row)
}

/** Throws `forbidden` for another user without `othersRule`; `not-found` for a user or project; `conflict`. */
export async function createCredential(
  deps: CredentialDeps,
  caller: Caller,
  asked: Omit<Credential, 'id'>,
  othersRule = 'identity:create_credential:other',
): Promise<Credential> {
  refuseDelegated(caller)
  const { userId, projectId, type, blob } = asked
  if (userId !== caller.userId) enforceInDomain(caller, othersRule, undefined)
  const { db, clock } = deps.identity
  if ((await findUser(db, userId)) === undefined) throw noSuch('user', userId)
  if (type.toLowerCase() === EC2 && projectId === null)
    throw new Failure('invalid', "A credential of type ec2 is for a project: give 'project_id'.")
  if (projectId !== null && (await findProject(db, projectId)) === undefined)
    throw noSuch('project', projectId)
  const id = type.toLowerCase() === EC2 ? idOfAccessKey(accessKeyOf(blob)) : newKeystoneId()
  const credential = { id, userId, projectId, type, blob }
  await db.transaction(async (tx) => {
    // The user's row is what counting and inserting at once wait for.
    if ((await lockUser(tx, userId)) === undefined) throw noSuch('user', userId)
    if ((await countCredentials(tx, userId)) >= OF_A_USER_MAX)
      throw new Failure(
        'forbidden',
        `Unable to create additional credentials, maximum of ${OF_A_USER_MAX} already exceeded for user.`,
      )
    const { blob: _, ...rest } = credential
    const createdAt = new Date(clock.now())
    await insertCredential(tx, { ...rest, sealedBlob: sealed(deps, credential), createdAt })
  })
  return credential
}

/** Afterwards it holds the blob. Whose it is, and of which type, never changes: `invalid`. */
export async function changeCredential(
  deps: CredentialDeps,
  caller: Caller,
  id: string,
  { blob, ...same }: Partial<Omit<Credential, 'id'>>,
): Promise<Credential> {
  const before = await oneCredential(deps, caller, id, 'identity:update_credential:other')
  for (const [name, value] of Object.entries(same))
    if (value !== undefined && value !== before[name as keyof Credential])
      throw new Failure('invalid', `The ${name} of a credential cannot be changed.`)
  if (blob === undefined) return before
  if (before.type.toLowerCase() === EC2 && idOfAccessKey(accessKeyOf(blob)) !== id)
    throw new Failure('invalid', 'The access key of a credential cannot be changed.')
  const after = { ...before, blob }
  if (!(await replaceBlob(deps.identity.db, id, sealed(deps, after))))
    throw noSuch('credential', id)
  return after
}

/** Afterwards there is no such credential. */
export async function removeCredential(
  deps: CredentialDeps,
  caller: Caller,
  id: string,
  othersRule = 'identity:delete_credential:other',
): Promise<void> {
  await oneCredential(deps, caller, id, othersRule)
  if (!(await deleteCredential(deps.identity.db, id))) throw noSuch('credential', id)
}

/** As Keystone makes it (keystone/common/utils.py, `hash_access_key`). */
export function idOfAccessKey(access: string): string {
  return hash('sha256', access)
}

function accessKeyOf(blob: string): string {
  const access = (fieldsOf(blob) as { readonly access?: unknown } | undefined)?.access
  if (typeof access === 'string' && access !== '') return access
  throw new Failure(
    'invalid',
    "The blob of a credential of type ec2 is a JSON object with 'access' and 'secret'.",
  )
}

function fieldsOf(blob: string): unknown {
  try {
    return JSON.parse(blob)
  } catch {
    return undefined
  }
}

/** Throws `forbidden` for a delegated token, which must not gain further credentials. */
function refuseDelegated({ mayDelegate }: Caller): void {
  if (!mayDelegate)
    throw new Failure(
      'forbidden',
      'A token of a restricted application credential, a trust or an access key cannot see or change credentials.',
    )
}

function sealed({ compute }: CredentialDeps, { id, blob }: Credential): string {
  return compute.secrets.seal(blob, `credential ${id}`)
}

/** A credential with its blob opened. */
export function openedCredential({ compute }: CredentialDeps, row: StoredCredential): Credential {
  const { id, userId, projectId, type, sealedBlob } = row
  return { id, userId, projectId, type, blob: compute.secrets.open(sealedBlob, `credential ${id}`) }
}
