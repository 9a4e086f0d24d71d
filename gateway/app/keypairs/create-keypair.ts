import type { Transactional, Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { insertKeypair, type Keypair, type KeypairType } from '../../db/keypairs.ts'
import { chargeUsage, type UsageEntry, usageAndLimit } from '../../db/quota-usages.ts'
import { userLimits } from '../../db/user-quota-limits.ts'
import { DEFAULT_LIMITS, UNLIMITED } from '../quotas/resources.ts'
import type { Caller } from '../request-context.ts'
import { publicKeyFingerprint } from './fingerprint.ts'
import { generateCertificate, generateSshKey, type KeyPair } from './generate-keys.ts'
import { keypairOwner } from './keypair-owner.ts'

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
 * Afterwards the user has the keypair. Throws `invalid` for what is no public key, `conflict` where the name is
 * taken, `over-quota`, and `forbidden` for another user's keypairs.
 */
export async function createKeypair(
  db: Transactional,
  caller: Pick<Caller, 'isAdmin' | 'userId' | 'projectId'>,
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
