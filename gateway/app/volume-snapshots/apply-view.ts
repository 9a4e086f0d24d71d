import type { Tx } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import type { VolumeSnapshotView } from '#openapi/wire/cell-volume-snapshot.ts'
import { removeSnapshot, writeLockedSnapshot } from '../../db/volume-snapshots.ts'
import { refundVolumes } from '../volumes/quotas.ts'
import type { VolumeSnapshot } from './volume-snapshot.ts'

/**
 * Afterwards a locked snapshot is as its cell shows it. A view of another cell, and one that is not newer than the known
 * one, change nothing. A snapshot that is being deleted stays so until its cell says that it could not. False where nothing has
 * changed.
 */
export async function applySnapshotView(
  tx: Tx,
  cellId: CellId,
  snapshot: VolumeSnapshot,
  { version: cellVersion, state, fault }: VolumeSnapshotView,
): Promise<boolean> {
  if (snapshot.cellId !== cellId || cellVersion <= snapshot.cellVersion) return false
  const isDeleting = snapshot.isDeleting && state !== 'error-deleting'
  const shown = state === 'error-deleting' ? 'error_deleting' : state
  const status = isDeleting ? 'deleting' : shown
  const change = { cellVersion, isDeleting, status, fault } as const
  await writeLockedSnapshot(tx, snapshot.id, change, { isIntent: false })
  return true
}

/**
 * Afterwards a locked snapshot of which its cell has nothing left is gone, and its quota returned. One that nobody
 * deletes is in error, and in no cell.
 */
export async function recordSnapshotGone(
  tx: Tx,
  cellId: CellId | null,
  snapshot: VolumeSnapshot,
): Promise<void> {
  if (snapshot.cellId !== cellId) return
  if (snapshot.isDeleting) {
    await removeSnapshot(tx, snapshot.id)
    refundVolumes(tx, snapshot, { snapshots: 1, gigabytes: snapshot.sizeGb })
    return
  }
  const change = {
    cellId: null,
    cellVersion: 0,
    status: 'error',
    sagaId: null,
    fault: 'The cell does not have the snapshot any more.',
  } as const
  await writeLockedSnapshot(tx, snapshot.id, change, { isIntent: false })
}
