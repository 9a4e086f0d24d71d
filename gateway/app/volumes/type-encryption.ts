import type { Executor, Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { VolumeEncryption } from '#openapi/wire/cell-volume.ts'
import {
  findType,
  lockType,
  type TypeEncryption,
  updateTypeEncryption,
  type VolumeType,
} from '../../db/volume-types.ts'
import type { ComputeDeps } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import type { Requester } from '../requester.ts'
import { isShared } from './choose-cell.ts'
import { isTypeInUse, showType, typeNotFound } from './types.ts'
import { showVolume } from './volumes.ts'

type Deps = Executor & Transactional

/** What an administrator says of the encryption of a type; undefined: as it is, or as usual. */
export interface EncryptionRequest {
  readonly provider?: string | undefined
  readonly cipher?: string | null | undefined
  readonly keySize?: number | null | undefined
  readonly controlLocation?: string | undefined
}

/** The names that Cinder and Nova have for LUKS: the last ones are those of their older releases. */
const PROVIDERS: readonly string[] = [
  'luks',
  'LuksEncryptor',
  'nova.volume.encryptors.luks.LuksEncryptor',
]
const CIPHER = 'aes-xts-plain64'
const KEY_SIZES: readonly number[] = [128, 256]
const USUAL_KEY_BITS = 256
const FRONT_END = 'front-end'

/** How volumes of the type are encrypted; null: they are not. Throws `not-found` for a type that the caller does not see. */
export async function showTypeEncryption(
  db: Executor,
  caller: Requester,
  typeId: string,
): Promise<{ readonly type: VolumeType; readonly encryption: TypeEncryption | null }> {
  const type = await showType(db, caller, typeId)
  return { type, encryption: type.encryption }
}

/**
 * How the volume is encrypted, as its type, which has no other encryption while volumes have it, says; null: it is not. Throws
 * `not-found` for a volume that the caller does not see.
 */
export async function showVolumeEncryption(
  deps: Pick<ComputeDeps, 'db'>,
  caller: RequestContext,
  id: string,
): Promise<TypeEncryption | null> {
  const { encryption, typeId } = await showVolume(deps, caller, id)
  if (encryption === null || typeId === null) return null
  // The project may not see the type any more.
  return (await findType(deps.db, typeId, { all: true }))?.encryption ?? null
}

/**
 * Afterwards volumes of the type are encrypted. Throws `not-found`; `invalid` for an encryption that there is not, for a
 * type that has one already or that a volume has, and for a type whose volumes several servers may use.
 */
export async function createTypeEncryption(
  db: Deps,
  caller: Requester,
  typeId: string,
  { provider, cipher = null, keySize = null, controlLocation }: EncryptionRequest,
): Promise<TypeEncryption> {
  const asked = {
    provider: provider ?? '',
    cipher,
    keySize,
    controlLocation: controlLocation ?? '',
  }
  refuseUnknown(asked)
  return change(db, caller, typeId, 'create', (type) => {
    if (type.encryption !== null)
      throw new Failure('invalid', `Volume type encryption for type ${type.id} already exists.`)
    if (isShared(type.extraSpecs))
      throw new Failure(
        'invalid',
        `Several servers may use a volume of type ${type.name} at once (multiattach), and an encrypted volume is used by one. Remove that extra spec first.`,
      )
    return { ...asked, id: newId<string>(), createdAt: new Date().toISOString(), updatedAt: null }
  })
}

/** Afterwards the encryption is changed; what is undefined stays. Throws as `createTypeEncryption`. */
export function updateEncryption(
  db: Deps,
  caller: Requester,
  typeId: string,
  asked: EncryptionRequest,
): Promise<TypeEncryption> {
  return change(db, caller, typeId, 'update', (type) => {
    const { encryption: now } = type
    if (now === null) throw noEncryption(type)
    const changed = {
      provider: asked.provider ?? now.provider,
      cipher: asked.cipher === undefined ? now.cipher : asked.cipher,
      keySize: asked.keySize === undefined ? now.keySize : asked.keySize,
      controlLocation: asked.controlLocation ?? now.controlLocation,
    }
    refuseUnknown(changed)
    return { ...now, ...changed, updatedAt: new Date().toISOString() }
  })
}

/** Afterwards new volumes of the type are not encrypted. Throws `not-found`, and `invalid` while a volume has the type. */
export async function deleteTypeEncryption(
  db: Deps,
  caller: Requester,
  typeId: string,
): Promise<void> {
  await change(db, caller, typeId, 'delete', (type) => {
    if (type.encryption === null) throw noEncryption(type)
    return null
  })
}

/** How a new volume of the type is encrypted; null: it is not. */
export function encryptionOf({
  encryption,
}: Pick<VolumeType, 'encryption'>): VolumeEncryption | null {
  if (encryption === null) return null
  return { keyBits: encryption.keySize === 128 ? 128 : USUAL_KEY_BITS }
}

export function noEncryption({ id }: Pick<VolumeType, 'id'>): Failure {
  return new Failure('not-found', `Volume type encryption for type ${id} does not exist.`)
}

async function change<E extends TypeEncryption | null>(
  db: Deps,
  caller: Requester,
  typeId: string,
  verb: 'create' | 'update' | 'delete',
  decide: (type: VolumeType) => E,
): Promise<E> {
  const { id } = await showType(db, caller, typeId)
  return db.transaction(async (tx) => {
    if (!(await lockType(tx, id))) throw typeNotFound(id)
    const next = decide(await showType(tx, caller, id))
    if (await isTypeInUse(tx, id))
      throw new Failure('invalid', `Cannot ${verb} encryption specs. Volume type in use.`)
    await updateTypeEncryption(tx, id, next)
    return next
  })
}

function refuseUnknown({
  provider,
  cipher,
  keySize,
  controlLocation,
}: Pick<TypeEncryption, 'provider' | 'cipher' | 'keySize' | 'controlLocation'>): void {
  if (!PROVIDERS.includes(provider))
    throw new Failure(
      'invalid',
      `Volumes are encrypted by the provider luks; there is no provider '${provider}'.`,
    )
  if (controlLocation !== FRONT_END)
    throw new Failure(
      'invalid',
      `The hypervisor encrypts volumes: control_location must be ${FRONT_END}, not '${controlLocation}'.`,
    )
  if (cipher !== null && cipher !== CIPHER)
    throw new Failure(
      'invalid',
      `Volumes are encrypted with the cipher ${CIPHER}; there is no cipher '${cipher}'.`,
    )
  if (keySize !== null && !KEY_SIZES.includes(keySize))
    throw new Failure(
      'invalid',
      `The key of ${CIPHER} has a key_size of ${KEY_SIZES.join(' or ')} bits, as Cinder counts them, not ${keySize}.`,
    )
}
