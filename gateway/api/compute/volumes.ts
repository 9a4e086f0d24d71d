import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/compute.gen.ts'
import { refuseNoShare, refuseShare } from '../../app/servers/acts/refuse-action.ts'
import { showServer } from '../../app/servers/list/show-server.ts'
import type { Handler } from '../../http/operation.ts'

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
  await showServer(call.app.db, call.context, call.params.server_id)
  return { body: { volumeAttachments: [] } }
}

/** POST /servers/{server_id}/os-volume_attachments: 404, as Nova answers for a volume that the service has not. */
const attachVolume: Handler<operations['attachVolume']> = async (call) => {
  await showServer(call.app.db, call.context, call.params.server_id)
  throw new Failure(
    'not-found',
    `Volume ${call.body.volumeAttachment.volumeId} could not be found.`,
  )
}

/** PUT /servers/{server_id}/os-volume_attachments/{volume_id} */
const updateVolumeAttachment: Handler<operations['updateVolumeAttachment']> = async (call) => {
  const { server_id, volume_id } = call.params
  await showServer(call.app.db, call.context, server_id)
  throw new Failure('not-found', `Volume ${volume_id} could not be found.`)
}

/** GET and DELETE /servers/{server_id}/os-volume_attachments/{volume_id} */
const noVolumeAttachment: Handler<operations['showVolumeAttachment']> = async (call) => {
  const { server_id, volume_id } = call.params
  await showServer(call.app.db, call.context, server_id)
  throw new Failure('not-found', `Instance ${server_id} is not attached to volume ${volume_id}`)
}

/** GET /os-volumes and /os-volumes/detail */
const listVolumes: Handler = async () => ({ body: { volumes: [] } })

/** GET /os-snapshots and /os-snapshots/detail */
const listSnapshots: Handler = async () => ({ body: { snapshots: [] } })

/** For operations that name a volume. */
const noVolume: Handler = async ({ params }) => {
  throw new Failure('not-found', `Volume ${params['volume_id']} could not be found.`)
}

/** For operations that name a snapshot of a volume. */
const noSnapshot: Handler = async ({ params }) => {
  throw new Failure('not-found', `Snapshot ${params['snapshot_id']} could not be found.`)
}

/** POST /os-volumes and /os-snapshots */
const refuseVolumes: Handler = async () => {
  throw new Failure('invalid', 'There is no block storage service here: servers have local disks.')
}

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
