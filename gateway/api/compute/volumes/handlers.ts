import {
  attachServerShare,
  detachServerShare,
  listServerShares,
  showServerShare,
} from './server-shares.ts'
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

export const volumeHandlers = {
  attachServerShare,
  attachVolume,
  createProxiedSnapshot: refuseVolumes,
  createProxiedVolume: refuseVolumes,
  deleteProxiedSnapshot: noSnapshot,
  deleteProxiedVolume: noVolume,
  detachServerShare,
  detachVolume: noVolumeAttachment,
  listProxiedSnapshots: listSnapshots,
  listProxiedSnapshotsDetail: listSnapshots,
  listProxiedVolumes: listVolumes,
  listProxiedVolumesDetail: listVolumes,
  listServerShares,
  listVolumeAttachments,
  showProxiedSnapshot: noSnapshot,
  showProxiedVolume: noVolume,
  showServerShare,
  showVolumeAttachment: noVolumeAttachment,
  updateVolumeAttachment,
}
