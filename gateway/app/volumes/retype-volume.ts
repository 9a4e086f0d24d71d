import { Failure } from '#common/errors.ts'
import type { StoreSummary } from '#openapi/wire/cell-volume.ts'
import { lockType, type VolumeType } from '../../db/volume-types.ts'
import { lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { Compute } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { isReady } from '../sagas/volume-work.ts'
import { isAllowed, isShared } from './choose-cell.ts'
import { chargeVolumes, refundVolumes } from './quotas.ts'
import {
  encryptionChange,
  type MigrationPolicy,
  retypeElsewhere,
  typeChange,
} from './retype-elsewhere.ts'
import { storeOf } from './store-abilities.ts'
import { typeNamed, typeNotFound } from './types.ts'
import type { Volume } from './volume.ts'
import { showVolume } from './volumes.ts'

/**
 * Afterwards the volume has the type of this name or id, for the quota as well, and stays in its store; where the type does not
 * allow that or encrypts otherwise, and the policy is `on-demand`, the volume is on its way to another store of its cell, and has the type once it is
 * there. Throws `not-found`, `invalid` in a status that forbids it and where no store will do, `over-quota`, and `unavailable`
 * while the cell says nothing of its stores.
 */
export async function retypeVolume(
  compute: Compute,
  context: RequestContext,
  id: string,
  { type: named, policy }: { readonly type: string; readonly policy: MigrationPolicy },
): Promise<void> {
  const { id: volumeId } = await showVolume(compute, context, id)
  const type = await typeNamed(compute.db, context, named)
  const mover = await compute.db.transaction(async (tx) => {
    if (!(await lockType(tx, type.id))) throw typeNotFound(named)
    const volume = await lockVolume(tx, volumeId)
    if (volume === undefined) throw new Failure('not-found', `Volume ${id} could not be found.`)
    refuseUnfit(volume, type)
    const isHere = isAllowed(knownStore(compute, volume), type.extraSpecs)
    if (!isHere || encryptionChange(volume, type) !== undefined) return volume
    await writeLockedVolume(tx, volumeId, typeChange(type), { isIntent: false })
    const amounts = { volumes: 1, gigabytes: volume.chargedGb }
    refundVolumes(tx, volume, amounts)
    await chargeVolumes(tx, { projectId: volume.projectId, typeId: type.id }, amounts)
    return undefined
  })
  if (mover !== undefined) await retypeElsewhere(compute, context, mover, { type, policy })
}

/** The reasons are those of Cinder (cinder/volume/api.py), one at a time. */
function refuseUnfit(volume: Volume, type: VolumeType): void {
  const { id, status, typeId, isMultiattach } = volume
  if (!isReady(volume, true) || volume.isDeleting || volume.sagaId !== null)
    throw new Failure(
      'invalid',
      `Invalid volume: Volume ${id} status must be available or in-use to change its type, but is '${status}'.`,
    )
  if (typeId === type.id)
    throw new Failure('invalid', `Invalid volume: Volume ${id} has the type ${type.name} already.`)
  if (status === 'in-use' && isMultiattach !== isShared(type.extraSpecs))
    throw new Failure(
      'invalid',
      `Invalid volume: Volume ${id} is in use, so the type ${type.name} cannot change whether several servers may use it. Detach it first.`,
    )
}

/** The store that has the volume. Throws `unavailable` while its cell does not report it. */
function knownStore(compute: Compute, volume: Volume): StoreSummary {
  const store = storeOf(compute, volume)
  if (store !== undefined) return store
  const { id, cellId, storeName } = volume
  const cell = cellId === null ? undefined : compute.cells.cell(cellId)
  throw new Failure(
    'unavailable',
    `Cell ${cell?.name ?? cellId} does not report the store ${storeName} of volume ${id}. Try again later.`,
  )
}
