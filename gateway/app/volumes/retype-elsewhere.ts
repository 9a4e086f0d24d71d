import { Failure, isFailure } from '#common/errors.ts'
import { snapshotsOfVolume } from '../../db/volume-snapshots.ts'
import type { VolumeType } from '../../db/volume-types.ts'
import type { Compute } from '../compute.ts'
import { reachable } from '../hosts/host-state.ts'
import { beginMigration } from '../operations/move-to-store.ts'
import type { RequestContext } from '../request-context.ts'
import { isShared, storesFor } from './choose-cell.ts'
import { encryptionOf } from './type-encryption.ts'
import type { Volume } from './volume.ts'

/** Cinder's words for whether a volume may change stores for its type. */
export type MigrationPolicy = 'never' | 'on-demand'

/** What a volume has of its type. */
export function typeChange({ id: typeId, extraSpecs: specs }: VolumeType) {
  return { typeId, specs, isMultiattach: isShared(specs) }
}

/** How the type encrypts a volume that is encrypted otherwise; null: not at all; undefined: the volume is as the type says. */
export function encryptionChange(
  { encryption: now }: Pick<Volume, 'encryption'>,
  type: VolumeType,
) {
  const encryption = encryptionOf(type)
  return encryption?.keyBits === now?.keyBits ? undefined : encryption
}

/**
 * Afterwards a volume whose store the type does not allow, or which the type encrypts otherwise, is on its way to one of its cell that the type allows, and has the type
 * once it is there. Throws `invalid` with Cinder's reasons (cinder/volume/manager.py), and where no store will do; `over-quota`;
 * `unavailable` while its cell is unreachable.
 */
export async function retypeElsewhere(
  compute: Compute,
  context: RequestContext,
  volume: Volume,
  { type, policy }: { readonly type: VolumeType; readonly policy: MigrationPolicy },
): Promise<void> {
  const { id, zone } = volume
  const encryption = encryptionChange(volume, type)
  const snapshots = await snapshotsOfVolume(compute.db, id)
  const reason =
    whyNoMove(volume, type, { policy, hasSnapshots: snapshots.length > 0 }) ??
    whyNoStore(compute, volume, type)
  if (reason !== undefined) throw new Failure('invalid', `Invalid volume: ${reason}`)
  const params = {
    ...{ volumeId: id, reason: null, userId: context.userId, toStore: null, zone },
    retype: { ...typeChange(type), ...(encryption !== undefined && { encryption }) },
  }
  try {
    await beginMigration(compute, context, params)
  } catch (error) {
    if (!isFailure(error, 'conflict')) throw error
    throw new Failure('invalid', `Invalid volume: ${error.message}`, { cause: error })
  }
}

function whyNoMove(
  volume: Volume,
  type: VolumeType,
  { policy, hasSnapshots }: { readonly policy: MigrationPolicy; readonly hasSnapshots: boolean },
): string | undefined {
  const { id, status } = volume
  const forbids =
    encryptionChange(volume, type) === undefined
      ? `The type ${type.name} does not allow the store of volume ${id}`
      : `The type ${type.name} encrypts volumes otherwise than volume ${id} is, and that changes on the way to another store`
  if (policy === 'never')
    return `Retype requires migration but is not allowed. ${forbids}. Repeat the request with the migration policy on-demand.`
  if (hasSnapshots)
    return `Volume must not have snapshots. ${forbids}, and snapshots stay in their store. Delete them first.`
  if (status !== 'available')
    return `Volume ${id} is '${status}', and only an available volume moves to another store. ${forbids}. Detach it first.`
  return undefined
}

/** The reason names no store, for users are not told which there are. */
function whyNoStore({ cells }: Compute, volume: Volume, type: VolumeType): string | undefined {
  const { id, cellId, storeId, sizeGb, zone } = volume
  const { name, extraSpecs: specs } = type
  const cell = reachable(cells.cell(cellId ?? ''))
  const encryption = encryptionOf(type)
  const elsewhere = storeId === null ? {} : { notInStores: [storeId] }
  const wanted = { sizeGb, specs, encryption, zone, only: null, tried: [], stores: elsewhere }
  const stores = storesFor(cell, wanted)
  if (stores.length === 0 && encryptionChange(volume, type) !== undefined)
    return `No other store in the zone ${zone} of volume ${id} is one that the type ${name} allows, and the encryption of a volume changes only on the way to another store. Create a volume of the type with this one as its source.`
  if (stores.length === 0)
    return `No store in the zone ${zone} of volume ${id} is one that the type ${name} allows. Create a volume of the type in another zone, or choose another type.`
  if (stores.some(({ roomGb }) => roomGb === undefined || roomGb >= sizeGb)) return undefined
  return `No store that the type ${name} allows has room for the ${sizeGb} GiB of volume ${id}. Repeat the request when one has.`
}
