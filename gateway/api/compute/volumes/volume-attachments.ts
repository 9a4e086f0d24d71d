import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/compute.gen.ts'
import { showServer } from '../../../app/servers/show-server.ts'
import type { Handler } from '../../../http/operation.ts'

/** GET /servers/{server_id}/os-volume_attachments */
export const listVolumeAttachments: Handler<operations['listVolumeAttachments']> = async (call) => {
  await showServer(call.app.db, call.context, call.params.server_id)
  return { body: { volumeAttachments: [] } }
}

/** POST /servers/{server_id}/os-volume_attachments: 404, as Nova answers for a volume that the service has not. */
export const attachVolume: Handler<operations['attachVolume']> = async (call) => {
  await showServer(call.app.db, call.context, call.params.server_id)
  throw new Failure(
    'not-found',
    `Volume ${call.body.volumeAttachment.volumeId} could not be found.`,
  )
}

/** PUT /servers/{server_id}/os-volume_attachments/{volume_id} */
export const updateVolumeAttachment: Handler<operations['updateVolumeAttachment']> = async (
  call,
) => {
  const { server_id, volume_id } = call.params
  await showServer(call.app.db, call.context, server_id)
  throw new Failure('not-found', `Volume ${volume_id} could not be found.`)
}

/** GET and DELETE /servers/{server_id}/os-volume_attachments/{volume_id} */
export const noVolumeAttachment: Handler<operations['showVolumeAttachment']> = async (call) => {
  const { server_id, volume_id } = call.params
  await showServer(call.app.db, call.context, server_id)
  throw new Failure('not-found', `Instance ${server_id} is not attached to volume ${volume_id}`)
}
