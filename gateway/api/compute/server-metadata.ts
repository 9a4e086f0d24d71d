import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/compute.gen.ts'
import {
  deleteMetadataItem,
  setMetadata,
  showMetadataItem,
} from '../../app/servers/edit/server-metadata.ts'
import { showServer } from '../../app/servers/list/show-server.ts'
import type { Handler } from '../../http/operation.ts'

const listServerMetadata: Handler<operations['listServerMetadata']> = async (call) => {
  const { metadata } = await showServer(call.app.db, call.context, call.params.server_id)
  return { body: { metadata } }
}

const updateServerMetadata: Handler<operations['updateServerMetadata']> = async (call) => {
  const { app, context, params, body } = call
  const change = { items: body.metadata, keep: true }
  return { body: { metadata: await setMetadata(app.compute, context, params.server_id, change) } }
}

const replaceServerMetadata: Handler<operations['replaceServerMetadata']> = async (call) => {
  const { app, context, params, body } = call
  const change = { items: body.metadata, keep: false }
  return { body: { metadata: await setMetadata(app.compute, context, params.server_id, change) } }
}

const showServerMetadataItem: Handler<operations['showServerMetadataItem']> = async (call) => {
  const { app, context, params } = call
  return { body: { meta: await showMetadataItem(app.db, context, params.server_id, params.key) } }
}

const updateServerMetadataItem: Handler<operations['updateServerMetadataItem']> = async (call) => {
  const { app, context, params, body } = call
  const { meta } = body
  if (!Object.hasOwn(meta, params.key))
    throw new Failure('invalid', 'Request body and URI mismatch: meta must hold the key of the URI')
  await setMetadata(app.compute, context, params.server_id, { items: meta, keep: true })
  return { body: { meta } }
}

const deleteServerMetadataItem: Handler<operations['deleteServerMetadataItem']> = async (call) => {
  await deleteMetadataItem(call.app.compute, call.context, call.params.server_id, call.params.key)
  return {}
}

export const serverMetadataHandlers = {
  listServerMetadata,
  updateServerMetadata,
  replaceServerMetadata,
  showServerMetadataItem,
  updateServerMetadataItem,
  deleteServerMetadataItem,
}
