import type { operations } from '#openapi/compute.gen.ts'
import { replaceTags } from '../../../app/servers/server-tags.ts'
import type { Handler } from '../../../http/operation.ts'

export const replaceServerTags: Handler<operations['replaceServerTags']> = async (call) => {
  const { app, context, params, body } = call
  return { body: { tags: await replaceTags(app.db, context, params.server_id, body.tags) } }
}
