import type { Transactional } from '#common/db/database.ts'
import type { VolumeSnapshotId } from '#common/ids.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { lockSnapshot, writeLockedSnapshot } from '../../db/volume-snapshots.ts'
import { recordSnapshotGone } from './apply-view.ts'

/** Afterwards a snapshot in a lost cell is gone if it was to be deleted, and else in error. If the cell comes back, so does it. */
export function takeSnapshotFromLostCell(
  db: Transactional,
  { id: cellId, name }: Cell,
  id: VolumeSnapshotId,
): Promise<void> {
  return db.transaction(async (tx) => {
    const snapshot = await lockSnapshot(tx, id)
    if (snapshot?.cellId !== cellId) return
    if (snapshot.isDeleting) return recordSnapshotGone(tx, cellId, snapshot)
    const fault = `Cell ${name} was declared lost, and its stores with it.`
    // Whatever the cell says of it when it is back is news.
    const change = { status: 'error', cellVersion: 0, sagaId: null, fault } as const
    await writeLockedSnapshot(tx, id, change, { isIntent: false })
  })
}
