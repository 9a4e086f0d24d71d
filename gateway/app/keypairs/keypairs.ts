import type { Executor, Transactional, Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import {
  deleteKeypair as deleteRow,
  findKeypair,
  insertKeypair,
  type Keypair,
  type KeypairType,
  listKeypairs as listRows,
  type StoredKeypair,
} from '../../db/keypairs.ts'
import {
  chargeUsage,
  queueUsageRefund,
  type UsageEntry,
  usageAndLimit,
} from '../../db/quota-usages.ts'
import { userLimits } from '../../db/user-quota-limits.ts'
import { type ChangedBy, queueKeypairEvent } from '../events/resource-events.ts'
import { DEFAULT_LIMITS, UNLIMITED } from '../quotas/resources.ts'
import type { Caller } from '../request-context.ts'
import {
  generateCertificate,
  generateSshKey,
  type KeyPair,
  publicKeyFingerprint,
} from './ssh-key.ts'

/** The owner of the keypairs in a request: the caller, or for administrators any user. Throws `forbidden`. */
export function keypairOwner(
  caller: Pick<Caller, 'isAdmin' | 'userId'>,
  userId: string | undefined,
): string {
  // An empty name of a user is none, as in Nova.
  if (userId === undefined || userId === '' || userId === caller.userId) return caller.userId
  if (caller.isAdmin) return userId
  throw new Failure('forbidden', 'Only administrators may use the keypairs of other users.')
}

export interface KeypairListQuery {
  readonly user_id?: string
  /** The name of the keypair the page starts after. */
  readonly marker?: string
}

/** One page of a user's keypairs, by name. Throws `invalid` for a marker that is not a keypair of the user. */
export async function listKeypairs(
  db: Executor,
  caller: Pick<Caller, 'isAdmin' | 'userId'>,
  query: KeypairListQuery,
  limit: number,
): Promise<readonly StoredKeypair[]> {
  const ownerId = keypairOwner(caller, query.user_id)
  const { marker } = query
  if (marker !== undefined && (await findKeypair(db, ownerId, marker)) === undefined)
    throw new Failure('invalid', `marker [${marker}] not found`)
  return listRows(db, ownerId, marker ?? '', limit)
}

/** The keypair; throws `not-found`, and `forbidden` for another user's. */
export async function showKeypair(
  db: Executor,
  caller: Pick<Caller, 'isAdmin' | 'userId'>,
  name: string,
  userId: string | undefined,
): Promise<StoredKeypair> {
  const ownerId = keypairOwner(caller, userId)
  const keypair = await findKeypair(db, ownerId, name)
  if (keypair === undefined) throw keypairNotFound(name, ownerId)
  return keypair
}

export function keypairNotFound(name: string, userId: string): Failure {
  return new Failure('not-found', `Keypair ${name} not found for user ${userId}`)
}

export interface NewKeypair {
  readonly name: string
  readonly type: KeypairType
  /** Absent: a pair is made, and its private half is in the answer only. */
  readonly publicKey: string | undefined
  /** Absent: the caller's own. */
  readonly userId: string | undefined
}

export interface CreatedKeypair extends Keypair {
  readonly privateKey?: string
}

/**
 * Afterwards the user has the keypair. Throws `invalid` for text that is not a public key, `conflict` for a name that
 * is taken, `over-quota`, and `forbidden` for another user's keypairs.
 */
export async function createKeypair(
  db: Transactional,
  caller: Pick<Caller, 'isAdmin' | 'userId' | 'projectId'> & ChangedBy,
  asked: NewKeypair,
): Promise<CreatedKeypair> {
  const userId = keypairOwner(caller, asked.userId)
  const { publicKey, privateKey } = await keysOf(asked, userId)
  const keypair: Keypair = {
    userId,
    name: asked.name,
    type: asked.type,
    publicKey,
    fingerprint: publicKeyFingerprint(asked.type, publicKey),
    createdAt: new Date(),
  }
  const entry = {
    ownerId: userId,
    projectId: caller.projectId ?? '',
    resource: 'key_pairs',
    fallbackLimit: DEFAULT_LIMITS.key_pairs,
  }
  await db.transaction(async (tx) => {
    await insertKeypair(tx, keypair)
    const hasRoom = await chargeUsage(tx, entry, 1)
    if (!hasRoom || (await isAboveOwnLimit(tx, entry)))
      throw new Failure('over-quota', 'Quota exceeded, too many key pairs.')
    queueKeypairEvent(tx, caller, asked.publicKey === undefined ? 'create' : 'import', keypair)
  })
  return { ...keypair, ...(privateKey !== undefined && { privateKey }) }
}

/** True when an operator gave the user fewer in this project than its others have; the pair is counted already. */
async function isAboveOwnLimit(tx: Tx, entry: UsageEntry): Promise<boolean> {
  const { projectId, ownerId: userId, resource } = entry
  const limit = (await userLimits(tx, { projectId, userId })).get(resource) ?? UNLIMITED
  return limit !== UNLIMITED && (await usageAndLimit(tx, entry)).used > limit
}

async function keysOf(
  { type, publicKey }: NewKeypair,
  userId: string,
): Promise<Pick<KeyPair, 'publicKey'> & Partial<KeyPair>> {
  if (publicKey !== undefined) return { publicKey }
  return type === 'ssh' ? generateSshKey() : generateCertificate(userId)
}

/** Afterwards the user has no keypair of this name; servers made with it keep their key. Throws `not-found`. */
export async function deleteKeypair(
  db: Transactional,
  caller: Pick<Caller, 'isAdmin' | 'userId'> & ChangedBy,
  name: string,
  userId: string | undefined,
): Promise<void> {
  const ownerId = keypairOwner(caller, userId)
  await db.transaction(async (tx) => {
    const keypair = await findKeypair(tx, ownerId, name)
    if (keypair === undefined || !(await deleteRow(tx, ownerId, name)))
      throw keypairNotFound(name, ownerId)
    queueKeypairEvent(tx, caller, 'delete', keypair)
    queueUsageRefund(tx, { ownerId, resource: 'key_pairs' }, 1)
  })
}

/** The public half of one of the user's keypairs. Throws `invalid` when there is none of that name, as Nova at boot. */
export async function keypairForBoot(
  db: Executor,
  context: { readonly userId: string },
  name: string,
): Promise<NonNullable<InstanceBuild['keypair']>> {
  const keypair = await findKeypair(db, context.userId, name)
  if (keypair === undefined) throw new Failure('invalid', 'Invalid key_name provided.')
  return { name: keypair.name, type: keypair.type, publicKey: keypair.publicKey }
}
