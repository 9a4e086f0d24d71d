import type { operations } from '#openapi/compute.gen.ts'
import { showMetadataItem } from '../../../app/servers/server-metadata.ts'
import type { Handler } from '../../../http/operation.ts'

export const showServerMetadataItem: Handler<operations['showServerMetadataItem']> = async (
  call,
) => {
  const { app, context, params } = call
  return { body: { meta: await showMetadataItem(app.db, context, params.server_id, params.key) } }
}
