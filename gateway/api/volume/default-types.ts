import type { operations } from '#openapi/volume.gen.ts'
import {
  listDefaultTypes as list,
  setDefaultType as set,
  showDefaultType as show,
  unsetDefaultType as unset,
} from '../../app/volumes/default-types.ts'
import type { Handler } from '../../http/operation.ts'

type DefaultType = Awaited<ReturnType<typeof show>>

const listDefaultTypes: Handler<operations['listDefaultTypes']> = async ({ app }) => {
  const defaults = await list(app.db)
  return { body: { default_types: defaults.map(defaultTypeView) } }
}

const setDefaultType: Handler<operations['setDefaultType']> = async (call) => {
  const { app, context, params, body } = call
  const chosen = await set(app.db, context, params.project_id, body.default_type.volume_type)
  return { body: { default_type: defaultTypeView(chosen) } }
}

const showDefaultType: Handler<operations['showDefaultType']> = async (call) => {
  const { app, context, params } = call
  const chosen = await show(app.db, context, params.project_id)
  return { body: { default_type: defaultTypeView(chosen) } }
}

const unsetDefaultType: Handler<operations['unsetDefaultType']> = async ({ app, params }) => {
  await unset(app.db, params.project_id)
  return {}
}

export const defaultTypeHandlers = {
  listDefaultTypes,
  setDefaultType,
  showDefaultType,
  unsetDefaultType,
}

function defaultTypeView({ projectId, typeId }: DefaultType) {
  return { project_id: projectId, volume_type_id: typeId }
}
