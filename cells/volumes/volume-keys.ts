import { randomBytes } from 'node:crypto'
import type { Static } from 'typebox'
import type { VolumeId } from '#common/ids.ts'
import { type BoxKeys, openWith, sealFor } from '#common/sealed-box.ts'
import type { Secrets } from '#common/secrets.ts'
import type { VolumeAttemptRef } from '#openapi/wire/cell-volume.ts'
import type { HOST_OPERATIONS } from '#openapi/wire/host.ts'
import type { VolumeKeys } from '#openapi/wire/volume.ts'
import type { HostOperation } from '#openapi/wire.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { findVolumeKeys, giveVolumeKeys, type SealedVolumeKey } from '../db/volume-keys.ts'

type Ask<O extends HostOperation> = Static<(typeof HOST_OPERATIONS)[O]['ask']>

const KEY_BYTES = 32

/** The key of a new volume. It is text, so that the programs of LUKS take it for a passphrase. */
export function newVolumeKey(secrets: Secrets, volumeId: VolumeId): SealedVolumeKey {
  const sealed = secrets.seal(randomBytes(KEY_BYTES).toString('hex'), purpose(volumeId))
  return { volumeId, sealed }
}

/** The public half of the key by which another cell seals that of a volume which comes in this attempt. */
export function boxKeyFor(
  secrets: Secrets,
  coming: Pick<VolumeAttemptRef, 'volumeId' | 'attempt'>,
) {
  return secrets.boxKeys(boxPurpose(coming))[0].publicKey
}

/** The key of a volume of this cell, for the cell with this public key alone, where it comes in this attempt. Throws `invalid`. */
export function sealedForCell(
  secrets: Secrets,
  { volumeId, sealed }: SealedVolumeKey,
  { publicKey, attempt }: { readonly publicKey: string; readonly attempt: number },
): string {
  const key = secrets.open(sealed, purpose(volumeId))
  return sealFor(publicKey, key, boxPurpose({ volumeId, attempt }))
}

/** The key of a volume that comes in this attempt, as this cell keeps it. Throws `invalid` for one that was sealed for another. */
export function receivedVolumeKey(
  secrets: Secrets,
  coming: Pick<VolumeAttemptRef, 'volumeId' | 'attempt'>,
  sealedKey: string,
): SealedVolumeKey {
  const volumeId = coming.volumeId as VolumeId
  const [current, ...others] = secrets.boxKeys(boxPurpose(coming))
  const opener = others.find((keys) => canOpen(keys, sealedKey, coming)) ?? current
  const key = openWith(opener, sealedKey, boxPurpose(coming))
  return { volumeId, sealed: secrets.seal(key, purpose(volumeId)) }
}

function canOpen(
  keys: BoxKeys,
  sealedKey: string,
  coming: Pick<VolumeAttemptRef, 'volumeId' | 'attempt'>,
): boolean {
  try {
    return openWith(keys, sealedKey, boxPurpose(coming)) !== ''
  } catch {
    return false
  }
}

function boxPurpose({ volumeId, attempt }: Pick<VolumeAttemptRef, 'volumeId' | 'attempt'>): string {
  return `key of volume ${volumeId} in attempt ${attempt}`
}

/** What a host is asked, with the keys that it needs for that. Hosts keep none. */
export async function withVolumeKeys<O extends HostOperation>(
  { db, secrets }: Pick<Conductor, 'db' | 'secrets'>,
  operation: O,
  payload: Ask<O>,
): Promise<Ask<O>> {
  const need = NEEDS[operation]?.(payload)
  if (need === undefined) return payload
  const found = await findVolumeKeys(db, need.volumes, need.server)
  if (found.length === 0) return payload
  // A later act on the server names none of its volumes.
  if (need.server !== null && need.volumes.length > 0)
    await giveVolumeKeys(db, need.volumes, need.server)
  const keys: VolumeKeys = found.map(({ volumeId, sealed }) => {
    const key = secrets.open(sealed, purpose(volumeId))
    return { volumeId, key }
  })
  return { ...payload, keys }
}

interface Need {
  readonly volumes: readonly string[]
  /** Whose volumes are opened besides; null: no server's. */
  readonly server: string | null
}

/** Of the work that opens volumes. */
const NEEDS: { readonly [O in HostOperation]?: (asked: Ask<O>) => Need | undefined } = {
  'volume-create': ({ operation, from }) => {
    const source = from !== undefined && 'volumeId' in from ? [from.volumeId] : []
    return { volumes: [operation.volumeId, ...source], server: null }
  },
  'volume-pack': ({ operation, encryption }) =>
    encryption && { volumes: [operation.volumeId], server: null },
  'volume-reimage': ({ operation }) => ({ volumes: [operation.volumeId], server: null }),
  'volume-snapshot': ({ operation }) => ({ volumes: [operation.volumeId], server: null }),
  'volume-attach': ({ operation, attachment }) => {
    return { volumes: [attachment.volumeId], server: operation.serverId }
  },
  'volume-swap': ({ operation, step, to }) => {
    return step === 'cancel' ? undefined : { volumes: [to.volumeId], server: operation.serverId }
  },
  // Most servers have none, and their boots wait for no further query.
  spawn: ({ operation, build }) => {
    return build.volumes && { volumes: idsOf(build.volumes), server: operation.serverId }
  },
  act: ({ operation, act }) => {
    const volumes = 'build' in act ? idsOf(act.build.volumes ?? []) : []
    return { volumes, server: operation.serverId }
  },
}

function idsOf(volumes: readonly { readonly volumeId: string }[]): readonly string[] {
  return volumes.map(({ volumeId }) => volumeId)
}

/** Binds a sealed key to its volume. */
function purpose(volumeId: VolumeId): string {
  return `key of volume ${volumeId}`
}
