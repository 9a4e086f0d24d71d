import type { TypeEncryption, VolumeType } from '../../db/volume-types.ts'
import { plainTime } from '../time.ts'

/** The part that administrators set. */
export function encryptionSpecs({ provider, cipher, keySize, controlLocation }: TypeEncryption) {
  return { provider, cipher, key_size: keySize, control_location: controlLocation }
}

/** How volumes of a type are encrypted, as Cinder shows its row. */
export function typeEncryptionView({ id }: VolumeType, encryption: TypeEncryption) {
  const { createdAt, updatedAt } = encryption
  return {
    ...encryptionSpecs(encryption),
    encryption_id: encryption.id,
    volume_type_id: id,
    created_at: plainTime(new Date(createdAt)),
    updated_at: updatedAt === null ? null : plainTime(new Date(updatedAt)),
    deleted: false as const,
    deleted_at: null,
  }
}
