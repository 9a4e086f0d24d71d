import type { Tx } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import type { FeedBody, FeedRow } from '#openapi/wire/feed.ts'
import { findVolume, lockVolumes } from '../../db/volumes.ts'
import { applyVolumeView, recordVolumeGone } from '../volumes/apply-view.ts'
import { endAttachment } from '../volumes/hold-volume.ts'
import { addFailureMessage, failedOn, type VolumeFailure } from '../volumes/messages.ts'
import type { Volume, VolumeStatus } from '../volumes/volume.ts'

/**
 * Applies what a cell says of volumes, in the order of its feed. A row about a volume that was not given to this cell,
 * or not at the row's attempt, changes nothing.
 */
export async function applyVolumes(
  tx: Tx,
  cellId: CellId,
  rows: readonly FeedRow[],
): Promise<void> {
  const ids = rows.flatMap(({ body }) => {
    if (body.kind === 'volume') return [body.view.volumeId]
    const names = body.kind === 'volume-deleted' || body.kind === 'volume-released'
    return names ? [body.volumeId] : []
  })
  if (ids.length === 0) return
  // All are locked in one order, so that two gateways never wait for each other.
  await lockVolumes(tx, ids)
  for (const { body } of rows) {
    if (body.kind === 'volume') {
      const volume = await findVolume(tx, body.view.volumeId)
      if (volume !== undefined && (await applyVolumeView(tx, cellId, volume, body.view)))
        await tellFailure(tx, volume, body)
    } else if (body.kind === 'volume-deleted') {
      const volume = await findVolume(tx, body.volumeId)
      if (volume !== undefined) await recordVolumeGone(tx, cellId, volume, body.attempt)
    } else if (body.kind === 'volume-released') {
      const volume = await findVolume(tx, body.volumeId)
      if (volume?.cellId === cellId) await endAttachment(tx, volume, body.attachmentId)
    }
  }
}

/** Work that fails as the state in which the volume was meanwhile. */
const FAILURES: Partial<Record<VolumeStatus, VolumeFailure>> = {
  creating: 'creating',
  downloading: 'reimaging',
  extending: 'extending',
  uploading: 'uploading',
}

/** Afterwards the project can read that its request has failed, if it has. */
async function tellFailure(
  tx: Tx,
  volume: Volume,
  { view, requestId }: Extract<FeedBody, { kind: 'volume' }>,
): Promise<void> {
  const failure = volume.isDeleting ? undefined : FAILURES[volume.status]
  if (view.fault === null || failure === undefined || requestId === undefined) return
  await addFailureMessage(tx, failure, failedOn(volume, { requestId }))
}
