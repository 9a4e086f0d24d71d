import type { CreatedKeypair } from '../app/keypairs/keypairs.ts'
import type { Keypair, StoredKeypair } from '../db/keypairs.ts'
import { plainTime } from './time.ts'

export function keypairSummary({ name, type, publicKey, fingerprint }: Keypair) {
  return { name, type, public_key: publicKey, fingerprint }
}

export function keypairView(keypair: StoredKeypair) {
  return {
    ...keypairSummary(keypair),
    id: keypair.serial,
    user_id: keypair.userId,
    created_at: plainTime(keypair.createdAt),
    updated_at: null,
    deleted: false as const,
    deleted_at: null,
  }
}

/** The one answer that has the private key, where one was made. */
export function createdKeypairView(keypair: CreatedKeypair) {
  const { userId, privateKey } = keypair
  return {
    ...keypairSummary(keypair),
    user_id: userId,
    ...(privateKey !== undefined && { private_key: privateKey }),
  }
}
