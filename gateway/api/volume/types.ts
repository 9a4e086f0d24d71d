import type { operations } from '#openapi/volume.gen.ts'
import { listTypes as list } from '../../app/volumes/list-types.ts'
import { grantTypeAccess, projectsOfType, revokeTypeAccess } from '../../app/volumes/type-access.ts'
import {
  createType as create,
  deleteType as remove,
  showType as show,
  updateType as update,
} from '../../app/volumes/types.ts'
import type { Handler } from '../../http/operation.ts'
import { pageLimit } from '../../http/pagination.ts'
import { typeView } from '../../views/volume/type.ts'
import { nextPageLinks } from '../compute/page.ts'

const addTypeAccess: Handler<operations['addTypeAccess']> = async (call) => {
  const { app, context, params, body } = call
  await grantTypeAccess(app.db, context, params.type_id, body.addProjectAccess.project)
  return {}
}

const createType: Handler<operations['createType']> = async ({ app, context, body }) => {
  const asked = body.volume_type
  const type = await create(app.db, {
    name: asked.name,
    description: asked.description ?? null,
    isPublic: asked['os-volume-type-access:is_public'] ?? true,
    extraSpecs: asked.extra_specs ?? {},
  })
  return { body: { volume_type: typeView(type, context) } }
}

const deleteType: Handler<operations['deleteType']> = async ({ app, context, params }) => {
  await remove(app.db, context, params.type_id)
  return {}
}

const listTypeAccess: Handler<operations['listTypeAccess']> = async ({ app, context, params }) => {
  const { type_id } = params
  const projects = await projectsOfType(app.db, context, type_id)
  const access = projects.map((project_id) => ({ volume_type_id: type_id, project_id }))
  return { body: { volume_type_access: access } }
}

const listTypes: Handler<operations['listTypes']> = async (call) => {
  const { app, context, query } = call
  const limit = pageLimit(query.limit)
  const types = await list(app.db, context, query, limit)
  const last = types.at(-1)?.id
  const next = nextPageLinks(call, 'volume_type_links', { size: types.length, limit, last })
  return { body: { volume_types: types.map((type) => typeView(type, context)), ...next } }
}

const removeTypeAccess: Handler<operations['removeTypeAccess']> = async (call) => {
  const { app, context, params, body } = call
  await revokeTypeAccess(app.db, context, params.type_id, body.removeProjectAccess.project)
  return {}
}

const showType: Handler<operations['showType']> = async ({ app, context, params }) => {
  const type = await show(app.db, context, params.type_id)
  return { body: { volume_type: typeView(type, context) } }
}

const updateType: Handler<operations['updateType']> = async ({ app, context, params, body }) => {
  const { name, description, is_public } = body.volume_type
  const change = {
    name: name ?? undefined,
    description: description ?? undefined,
    isPublic: is_public,
  }
  const type = await update(app.db, context, params.type_id, change)
  return { body: { volume_type: typeView(type, context) } }
}

export const typeHandlers = {
  addTypeAccess,
  createType,
  deleteType,
  listTypeAccess,
  listTypes,
  removeTypeAccess,
  showType,
  updateType,
}
