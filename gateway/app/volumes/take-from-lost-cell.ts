import type { Transactional } from '#common/db/database.ts'
import type { VolumeId } from '#common/ids.ts'
import type { Cell } from '../../cell-client/cell.ts'
import {
  attachmentsOfVolumes,
  queueRemoveAttachment,
  queueServerVolumes,
} from '../../db/volume-attachments.ts'
import { lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import { recordVolumeGone } from './apply-view.ts'

/**
 * Afterwards a volume of a lost cell is gone if it was to be deleted, and else in error and attached to no server. It
 * stays the cell's: no other can have its content, and if the cell comes back, so does the volume. One that is moving to
 * another cell is left to its move.
 */
export function takeVolumeFromLostCell(
  db: Transactional,
  { id: cellId, name }: Cell,
  id: VolumeId,
): Promise<void> {
  return db.transaction(async (tx) => {
    const volume = await lockVolume(tx, id)
    if (volume?.cellId !== cellId) return
    if (volume.isDeleting) return recordVolumeGone(tx, cellId, volume, volume.attempt)
    // The other cell may have all of it, or the move gives up: then it is lost.
    if (volume.status === 'maintenance' && volume.sagaId !== null) return
    const fault = `Cell ${name} was declared lost, and its stores with it.`
    // The guests of a lost cell are stopped, and their servers are built again without it.
    for (const attachment of await attachmentsOfVolumes(tx, [id])) {
      queueRemoveAttachment(tx, attachment.id)
      queueServerVolumes(tx, attachment.serverId)
    }
    // Whatever the cell says of it when it is back is news.
    const change = { status: 'error', cellVersion: 0, sagaId: null, fault } as const
    await writeLockedVolume(tx, id, change, { isIntent: false })
  })
}
