import type { Handlers } from '../../../http/operation.ts'
import {
  attachVolume,
  listVolumeAttachments,
  noVolumeAttachment,
  updateVolumeAttachment,
} from './volume-attachments.ts'
import {
  listSnapshots,
  listVolumes,
  noSnapshot,
  noVolume,
  refuseVolumes,
} from './volume-proxies.ts'

export const volumeHandlers: Handlers = {
  attachVolume,
  createProxiedSnapshot: refuseVolumes,
  createProxiedVolume: refuseVolumes,
  deleteProxiedSnapshot: noSnapshot,
  deleteProxiedVolume: noVolume,
  detachVolume: noVolumeAttachment,
  listProxiedSnapshots: listSnapshots,
  listProxiedSnapshotsDetail: listSnapshots,
  listProxiedVolumes: listVolumes,
  listProxiedVolumesDetail: listVolumes,
  listVolumeAttachments,
  showProxiedSnapshot: noSnapshot,
  showProxiedVolume: noVolume,
  showVolumeAttachment: noVolumeAttachment,
  updateVolumeAttachment,
}
