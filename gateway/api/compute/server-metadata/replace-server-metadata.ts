import type { operations } from '#openapi/compute.gen.ts'
import { setMetadata } from '../../../app/servers/server-metadata.ts'
import type { Handler } from '../../../http/operation.ts'

export const replaceServerMetadata: Handler<operations['replaceServerMetadata']> = async (call) => {
  const { app, context, params, body } = call
  const change = { items: body.metadata, keep: false }
  return { body: { metadata: await setMetadata(app.db, context, params.server_id, change) } }
}
