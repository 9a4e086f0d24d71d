import type { VolumeAttachment } from '../../db/volume-attachments.ts'
import { plainTime } from '../time.ts'

/** What a list without details shows of an attachment. */
export function attachmentSummary({ id, state, serverId, volumeId }: VolumeAttachment) {
  return { id, status: state, instance: serverId, volume_id: volumeId }
}

export function attachmentView(attachment: VolumeAttachment) {
  return {
    ...attachmentSummary(attachment),
    attached_at: plainTime(attachment.createdAt),
    detached_at: null,
    attach_mode: 'rw' as const,
    connection_info: {},
  }
}
