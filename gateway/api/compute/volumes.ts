import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/compute.gen.ts'
import { booleanText } from '../../app/boolean-text.ts'
import { enforce } from '../../app/policy.ts'
import { refuseNoShare, refuseShare } from '../../app/servers/acts/refuse-action.ts'
import { showServer } from '../../app/servers/list/show-server.ts'
import {
  attachVolume,
  detachVolume,
  listAttachments,
  showAttachment,
  updateDeletesVolume,
} from '../../app/volumes/attachments.ts'
import { swapVolume } from '../../app/volumes/swap-volume.ts'
import type { VolumeAttachment } from '../../db/volume-attachments.ts'
import type { Handler } from '../../http/operation.ts'
import { pageLimit } from '../../http/pagination.ts'
import { isSince } from '../../views/since.ts'

/** GET /servers/{server_id}/shares */
const listServerShares: Handler<operations['listServerShares']> = async (call) => {
  await showServer(call.app.db, call.context, call.params.server_id)
  return { body: { shares: [] } }
}

/** POST /servers/{server_id}/shares */
const attachServerShare: Handler<operations['attachServerShare']> = async (call) => {
  const server = await showServer(call.app.db, call.context, call.params.server_id)
  return refuseShare(server)
}

/** GET /servers/{server_id}/shares/{share_id} */
const showServerShare: Handler<operations['showServerShare']> = async (call) => {
  const { server_id, share_id } = call.params
  await showServer(call.app.db, call.context, server_id)
  throw new Failure('not-found', `Share ${share_id} could not be found.`)
}

/** DELETE /servers/{server_id}/shares/{share_id} */
const detachServerShare: Handler<operations['detachServerShare']> = async (call) => {
  const { server_id, share_id } = call.params
  const server = await showServer(call.app.db, call.context, server_id)
  return refuseNoShare(server, share_id)
}

/** GET /servers/{server_id}/os-volume_attachments */
const listVolumeAttachments: Handler<operations['listVolumeAttachments']> = async (call) => {
  const { app, context, params, query } = call
  const all = await listAttachments(app.compute, context, params.server_id)
  const { offset = 0 } = query
  const page = all.slice(offset, offset + pageLimit(query.limit))
  return { body: { volumeAttachments: page.map(attachmentView) } }
}

/** POST /servers/{server_id}/os-volume_attachments: the name of the device is the guest's choice, whatever is asked for. */
const attachServerVolume: Handler<operations['attachVolume']> = async (call) => {
  const { app, context, params, body } = call
  const { volumeId, tag = null, delete_on_termination = false } = body.volumeAttachment
  const request = {
    volumeId,
    tag,
    deletesVolume: booleanText(String(delete_on_termination)) === true,
  }
  const attachment = await attachVolume(app.compute, context, params.server_id, request)
  if (isSince(context, '2.101')) return { status: 202 }
  return { status: 200, body: { volumeAttachment: attachmentView(attachment) } }
}

/**
 * PUT /servers/{server_id}/os-volume_attachments/{volume_id}: before 2.85 it is for swaps alone
 * (nova/api/openstack/compute/volume_attachments.py `_update`).
 */
const updateVolumeAttachment: Handler<operations['updateVolumeAttachment']> = async (call) => {
  const { app, context, params, body } = call
  const { volumeId: newVolumeId, delete_on_termination } = body.volumeAttachment
  const pair = { serverId: params.server_id, volumeId: params.volume_id }
  const onlySwaps = !isSince(context, '2.85')
  const swaps = onlySwaps || newVolumeId.toLowerCase() !== params.volume_id.toLowerCase()
  if (swaps) enforce(context, 'os_compute_api:os-volumes-attachments:swap')
  if (!onlySwaps) {
    const deletes =
      delete_on_termination === undefined
        ? undefined
        : booleanText(String(delete_on_termination)) === true
    await updateDeletesVolume(app.compute, context, pair, deletes)
  }
  if (swaps) await swapVolume(app.compute, context, { ...pair, newVolumeId })
  return {}
}

/** GET /servers/{server_id}/os-volume_attachments/{volume_id} */
const showVolumeAttachment: Handler<operations['showVolumeAttachment']> = async (call) => {
  const { server_id, volume_id } = call.params
  const found = await showAttachment(call.app.compute, call.context, server_id, volume_id)
  return { body: { volumeAttachment: attachmentView(found) } }
}

/** DELETE /servers/{server_id}/os-volume_attachments/{volume_id} */
const detachServerVolume: Handler<operations['detachVolume']> = async (call) => {
  const { server_id, volume_id } = call.params
  await detachVolume(call.app.compute, call.context, server_id, volume_id)
  return {}
}

function attachmentView(attachment: VolumeAttachment) {
  const { id, volumeId, serverId, device, tag, deletesVolume } = attachment
  return {
    id: volumeId,
    serverId,
    volumeId,
    device,
    tag,
    delete_on_termination: deletesVolume,
    attachment_id: id,
    bdm_uuid: id,
  }
}

export const volumeHandlers = {
  attachServerShare,
  attachVolume: attachServerVolume,
  detachServerShare,
  detachVolume: detachServerVolume,
  listServerShares,
  listVolumeAttachments,
  showServerShare,
  showVolumeAttachment,
  updateVolumeAttachment,
}
