import { workContext } from '#common/context.ts'
import { newId } from '#common/ids.ts'
import type { VolumeView } from '#openapi/wire/cell-volume.ts'
import type { CellRef } from '../../cell-client/client.ts'
import { runningVolumeMove } from '../../db/volume-moves.ts'
import { findVolume, lockVolume, volumesInCell, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import { applyVolumeView, recordVolumeGone } from '../volumes/apply-view.ts'
import type { Volume } from '../volumes/volume.ts'
import { type Copied, resyncCopies } from './resync-copies.ts'

/** Afterwards the volumes of the cell are shown as it has them. */
export function resyncVolumes(deps: ComputeDeps, cell: CellRef, copy: Copied): Promise<void> {
  return resyncCopies<Volume, VolumeView>(cell, copy, {
    known: (cellId, after, max) => volumesInCell(deps.db, cellId, after, max),
    read: async (afterVolume) => {
      const work = workContext({})
      const page = await deps.askCell(cell, 'snapshot.volumes', { afterVolume }, { work })
      return { ...page, views: page.volumes }
    },
    idOf: ({ volumeId }) => volumeId,
    apply: (view, copied) => applyCopy(deps, cell, view, copied),
    missing: (volume) => recordMissing(deps, cell, volume),
  })
}

async function applyCopy(
  deps: ComputeDeps,
  cell: CellRef,
  view: VolumeView,
  { isReplaced }: Copied,
): Promise<void> {
  const { volumeId, attempt } = view
  // Asked before the volume is read: where the move ends in between, the volume is read as this cell's.
  const move = await runningVolumeMove(deps.db, volumeId)
  const volume = await findVolume(deps.db, volumeId)
  if (volume?.cellId === cell.id && volume.attempt === attempt) {
    if (!isReplaced && view.version <= volume.cellVersion) return
    await deps.db.transaction(async (tx) => {
      const now = await lockVolume(tx, volumeId)
      if (now === undefined) return
      const seen = isReplaced ? { ...now, cellVersion: 0 } : now
      await applyVolumeView(tx, cell.id, seen, view)
    })
    return
  }
  if (move?.toCellId === cell.id && move.attempt === attempt) return
  // The cell has not heard that the volume was assigned to it again, or the database here is older than the volume.
  if (volume?.cellId === cell.id && volume.attempt > attempt && volume.sagaId !== null) return
  if (volume !== undefined && isNewer(volume, attempt)) return keepNewer(deps, cell, view)
  const operation = { id: newId<string>(), volumeId, attempt }
  await deps.askCell(cell, 'volume.delete', { operation }, { work: workContext({}) })
  deps.log.warn(
    { cell: cell.name, volume_id: volumeId, attempt },
    'ended a volume that the cell should not have',
  )
}

/**
 * True for content of an attempt of which nothing is known here: the volume moved there after the backup from which this
 * database was restored, so it may be all there is of it.
 */
function isNewer({ isDeleting, cellId, ...volume }: Volume, attempt: number): boolean {
  if (isDeleting || attempt <= volume.lastAttempt) return false
  // One that its former cell does not have any more is in an attempt of its own, in which no cell was asked.
  return attempt > volume.attempt || (cellId === null && attempt === volume.attempt)
}

/** Afterwards the cell still has it, and the volume is that cell's if it is no other's. */
async function keepNewer(deps: ComputeDeps, cell: CellRef, view: VolumeView): Promise<void> {
  const { volumeId, attempt } = view
  await deps.db.transaction(async (tx) => {
    const now = await lockVolume(tx, volumeId)
    if (now === undefined || now.cellId !== null || !isNewer(now, attempt)) return
    const found = { cellId: cell.id, attempt, lastAttempt: attempt, cellVersion: 0, fault: null }
    await writeLockedVolume(tx, now.id, found, { isIntent: false })
    await applyVolumeView(tx, cell.id, { ...now, ...found }, view)
  })
  deps.log.warn(
    { cell: cell.name, volume_id: volumeId, attempt },
    'the cell has a volume in an attempt that is not known here, and keeps it',
  )
}

async function recordMissing(deps: ComputeDeps, cell: CellRef, seen: Volume): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const now = await lockVolume(tx, seen.id)
    if (now !== undefined) await recordVolumeGone(tx, cell.id, now, seen.attempt)
  })
  deps.log.warn({ cell: cell.name, volume_id: seen.id }, 'the cell does not have the volume')
}
