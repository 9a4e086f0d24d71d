import type { operations } from '#openapi/compute.gen.ts'
import { setMetadata } from '../../../app/servers/server-metadata.ts'
import type { Handler } from '../../../http/operation.ts'

export const updateServerMetadata: Handler<operations['updateServerMetadata']> = async (call) => {
  const { app, context, params, body } = call
  const change = { items: body.metadata, keep: true }
  return { body: { metadata: await setMetadata(app.db, context, params.server_id, change) } }
}
