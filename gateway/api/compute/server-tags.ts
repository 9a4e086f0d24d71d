import type { operations } from '#openapi/compute.gen.ts'
import {
  addTag,
  checkTag,
  deleteTag,
  deleteTags,
  replaceTags,
} from '../../app/servers/edit/server-tags.ts'
import { showServer } from '../../app/servers/list/show-server.ts'
import type { Handler } from '../../http/operation.ts'

const listServerTags: Handler<operations['listServerTags']> = async (call) => {
  const { tags } = await showServer(call.app.db, call.context, call.params.server_id)
  return { body: { tags } }
}

const replaceServerTags: Handler<operations['replaceServerTags']> = async (call) => {
  const { app, context, params, body } = call
  return { body: { tags: await replaceTags(app.compute, context, params.server_id, body.tags) } }
}

const deleteServerTags: Handler<operations['deleteServerTags']> = async (call) => {
  await deleteTags(call.app.compute, call.context, call.params.server_id)
  return {}
}

const checkServerTag: Handler<operations['checkServerTag']> = async (call) => {
  await checkTag(call.app.db, call.context, call.params.server_id, call.params.tag)
  return {}
}

const addServerTag: Handler<operations['addServerTag']> = async (call) => {
  const { app, context, params, links } = call
  const { server_id: id, tag } = params
  if (!(await addTag(app.compute, context, id, tag))) return { status: 204 }
  const self = links.to(`/compute/v2.1/servers/${id}/tags/${encodeURIComponent(tag)}`)
  return { status: 201, headers: { Location: self } }
}

const deleteServerTag: Handler<operations['deleteServerTag']> = async (call) => {
  await deleteTag(call.app.compute, call.context, call.params.server_id, call.params.tag)
  return {}
}

export const serverTagHandlers = {
  listServerTags,
  replaceServerTags,
  deleteServerTags,
  checkServerTag,
  addServerTag,
  deleteServerTag,
}
