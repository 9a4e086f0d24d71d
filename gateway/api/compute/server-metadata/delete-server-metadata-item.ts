import type { operations } from '#openapi/compute.gen.ts'
import { deleteMetadataItem } from '../../../app/servers/server-metadata.ts'
import type { Handler } from '../../../http/operation.ts'

export const deleteServerMetadataItem: Handler<operations['deleteServerMetadataItem']> = async (
  call,
) => {
  await deleteMetadataItem(call.app.db, call.context, call.params.server_id, call.params.key)
  return {}
}
