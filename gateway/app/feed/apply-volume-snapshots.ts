import type { Tx } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import type { FeedBody, FeedRow } from '#openapi/wire/feed.ts'
import { lockSnapshot } from '../../db/volume-snapshots.ts'
import { applySnapshotView, recordSnapshotGone } from '../volume-snapshots/apply-view.ts'
import type { VolumeSnapshot } from '../volume-snapshots/volume-snapshot.ts'
import { addFailureMessage, failedOn } from '../volumes/messages.ts'

/**
 * Applies what a cell says of snapshots of volumes, in the order of its feed. A row about a snapshot that is not in this
 * cell changes nothing.
 */
export async function applyVolumeSnapshots(
  tx: Tx,
  cellId: CellId,
  rows: readonly FeedRow[],
): Promise<void> {
  const ids = rows.flatMap(({ body }) => {
    if (body.kind === 'volume-snapshot') return [body.view.snapshotId]
    return body.kind === 'volume-snapshot-deleted' ? [body.snapshotId] : []
  })
  // All are locked in one order, so that two gateways never wait for each other.
  for (const id of new Set(ids.toSorted())) await lockSnapshot(tx, id)
  for (const { body } of rows) {
    if (body.kind === 'volume-snapshot') {
      const snapshot = await lockSnapshot(tx, body.view.snapshotId)
      if (snapshot !== undefined && (await applySnapshotView(tx, cellId, snapshot, body.view)))
        await tellFailure(tx, snapshot, body)
    } else if (body.kind === 'volume-snapshot-deleted') {
      const snapshot = await lockSnapshot(tx, body.snapshotId)
      if (snapshot !== undefined) await recordSnapshotGone(tx, cellId, snapshot)
    }
  }
}

/** Afterwards the project can read that its request has failed, if it has. */
async function tellFailure(
  tx: Tx,
  snapshot: VolumeSnapshot,
  { view, requestId }: Extract<FeedBody, { kind: 'volume-snapshot' }>,
): Promise<void> {
  const hasFailed = snapshot.status === 'creating' && view.fault !== null
  if (hasFailed && requestId !== undefined)
    await addFailureMessage(tx, 'creating-snapshot', failedOn(snapshot, { requestId }))
}
