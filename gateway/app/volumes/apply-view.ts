import type { Tx } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import type { VolumeView } from '#openapi/wire/cell-volume.ts'
import { HOLDING, queueHeldStatus } from '../../db/held-volumes.ts'
import { removeVolume, type VolumeChange, writeLockedVolume } from '../../db/volumes.ts'
import { refundType, refundVolumes } from './quotas.ts'
import { statusOf, type Volume, type VolumeStatus } from './volume.ts'

/** The states in which a cell is done with a volume, so that its size is final. */
const SETTLED: ReadonlySet<VolumeView['state']> = new Set(['available', 'error', 'error-deleting'])

/**
 * Afterwards a locked volume is as its cell shows it. A view of another cell or attempt, and one that is not newer than
 * the known one, change nothing. A volume that is being deleted stays so until its cell says that it could not. False where
 * nothing has changed.
 */
export async function applyVolumeView(
  tx: Tx,
  cellId: CellId,
  volume: Volume,
  view: VolumeView,
): Promise<boolean> {
  const isOurs = volume.cellId === cellId && volume.attempt === view.attempt
  if (!isOurs || view.version <= volume.cellVersion) return false
  const isDeleting = volume.isDeleting && view.state !== 'error-deleting'
  const excessGb = SETTLED.has(view.state) ? volume.chargedGb - view.sizeGb : 0
  const { version: cellVersion, sizeGb, zone, storeId, storeName, fault } = view
  const status = isDeleting ? 'deleting' : shownStatus(volume, view)
  const shown = { cellVersion, isDeleting, status, sizeGb, zone, storeId, storeName, fault }
  const charged = excessGb > 0 && { chargedGb: sizeGb }
  const change = { ...shown, ...charged, ...imageAfter(volume, view) }
  await writeLockedVolume(tx, volume.id, change, { isIntent: false })
  // It may have been made for a server, or extended while one used it.
  if (status === 'available' && !HOLDING.has(volume.status)) queueHeldStatus(tx, volume.id)
  if (excessGb > 0) refundVolumes(tx, volume, { gigabytes: excessGb })
  return true
}

/** What the volume says of its image once a rebuild of its server has given it the content of that. */
function imageAfter({ nextImageMetadata: next }: Volume, { imageId }: VolumeView): VolumeChange {
  if (next === null || next['image_id'] !== imageId) return {}
  return { imageMetadata: next, nextImageMetadata: null, isBootable: true }
}

/** A cell knows nothing of attachments, transfers and moves: a volume that it calls available may be in use, or offered. */
function shownStatus({ status }: Volume, { state }: VolumeView): VolumeStatus {
  const isMoving = status === 'maintenance' || status === 'retyping'
  if (isMoving && (state === 'available' || state === 'uploading')) return status
  const isWhole = HOLDING.has(status) || status === 'awaiting-transfer'
  return state === 'available' && isWhole ? status : statusOf(state)
}

/**
 * Afterwards a locked volume of which its cell has nothing left is gone, and its quota returned. One that nobody
 * deletes is in error, and in no cell. Only the mapped cell and attempt count.
 */
export async function recordVolumeGone(
  tx: Tx,
  cellId: CellId | null,
  volume: Volume,
  attempt: number,
): Promise<void> {
  if (volume.cellId !== cellId || volume.attempt !== attempt) return
  if (volume.isDeleting) {
    await removeVolume(tx, volume.id)
    const amounts = { volumes: 1, gigabytes: volume.chargedGb }
    refundVolumes(tx, volume, amounts)
    refundType(tx, { ...volume, typeId: volume.nextTypeId }, amounts)
    return
  }
  const change = {
    ...NOWHERE,
    attempt: attempt + 1,
    fault: 'The cell does not have the volume any more.',
  }
  await writeLockedVolume(tx, volume.id, change, { isIntent: false })
}

/** A volume whose content is nowhere: it can only be deleted. */
export const NOWHERE = {
  cellId: null,
  cellVersion: 0,
  status: 'error',
  storeId: null,
  storeName: null,
  sagaId: null,
} as const
