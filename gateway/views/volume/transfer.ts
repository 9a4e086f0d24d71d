import type { VolumeTransfer } from '../../db/volume-transfers.ts'
import type { Links } from '../../http/links.ts'
import { plainTime } from '../time.ts'
import { volumeLinks } from './links.ts'

/** What a list without details shows of a transfer, and what its receiver sees. */
export function transferSummary({ id, volumeId, name }: VolumeTransfer, links: Links) {
  return { id, volume_id: volumeId, name, links: volumeLinks(links, `/volume-transfers/${id}`) }
}

/** A transfer with every field; those of later microversions are pruned. One that was accepted is not shown any more. */
export function transferView(transfer: VolumeTransfer, links: Links) {
  return {
    ...transferSummary(transfer, links),
    created_at: plainTime(transfer.createdAt),
    source_project_id: transfer.projectId,
    destination_project_id: null,
    accepted: false,
  }
}
