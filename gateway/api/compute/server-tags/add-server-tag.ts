import type { operations } from '#openapi/compute.gen.ts'
import { addTag } from '../../../app/servers/server-tags.ts'
import type { Handler } from '../../../http/operation.ts'

export const addServerTag: Handler<operations['addServerTag']> = async (call) => {
  const { app, context, params, links } = call
  const { server_id: id, tag } = params
  if (!(await addTag(app.db, context, id, tag))) return { status: 204 }
  const self = links.to(`/compute/v2.1/servers/${id}/tags/${encodeURIComponent(tag)}`)
  return { status: 201, headers: { Location: self } }
}
