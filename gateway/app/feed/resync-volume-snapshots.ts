import { workContext } from '#common/context.ts'
import { newId } from '#common/ids.ts'
import type { VolumeSnapshotView } from '#openapi/wire/cell-volume-snapshot.ts'
import type { CellRef } from '../../cell-client/client.ts'
import { findSnapshot, lockSnapshot, snapshotsInCell } from '../../db/volume-snapshots.ts'
import type { ComputeDeps } from '../compute.ts'
import { applySnapshotView, recordSnapshotGone } from '../volume-snapshots/apply-view.ts'
import type { VolumeSnapshot } from '../volume-snapshots/volume-snapshot.ts'
import { type Copied, resyncCopies } from './resync-copies.ts'

/** Afterwards the snapshots of volumes in the cell are shown as it has them. */
export function resyncVolumeSnapshots(
  deps: ComputeDeps,
  cell: CellRef,
  copy: Copied,
): Promise<void> {
  return resyncCopies<VolumeSnapshot, VolumeSnapshotView>(cell, copy, {
    known: (cellId, after, max) => snapshotsInCell(deps.db, cellId, after, max),
    read: async (afterSnapshot) => {
      const ask = { afterSnapshot }
      const work = workContext({})
      const page = await deps.askCell(cell, 'snapshot.volume-snapshots', ask, { work })
      return { ...page, views: page.snapshots }
    },
    idOf: ({ snapshotId }) => snapshotId,
    apply: (view, copied) => applyCopy(deps, cell, view, copied),
    missing: (snapshot) => recordMissing(deps, cell, snapshot),
  })
}

async function applyCopy(
  deps: ComputeDeps,
  cell: CellRef,
  view: VolumeSnapshotView,
  { isReplaced }: Copied,
): Promise<void> {
  const { snapshotId } = view
  const snapshot = await findSnapshot(deps.db, snapshotId)
  if (snapshot?.cellId === cell.id) {
    if (!isReplaced && view.version <= snapshot.cellVersion) return
    await deps.db.transaction(async (tx) => {
      const now = await lockSnapshot(tx, snapshotId)
      if (now === undefined) return
      const seen = isReplaced ? { ...now, cellVersion: 0 } : now
      await applySnapshotView(tx, cell.id, seen, view)
    })
    return
  }
  const operation = { id: newId<string>(), snapshotId }
  await deps.askCell(cell, 'volume-snapshot.delete', { operation }, { work: workContext({}) })
  deps.log.warn(
    { cell: cell.name, snapshot_id: snapshotId },
    'ended a snapshot that the cell should not have',
  )
}

async function recordMissing(
  deps: ComputeDeps,
  cell: CellRef,
  { id }: VolumeSnapshot,
): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const now = await lockSnapshot(tx, id)
    if (now !== undefined) await recordSnapshotGone(tx, cell.id, now)
  })
  deps.log.warn({ cell: cell.name, snapshot_id: id }, 'the cell does not have the snapshot')
}
