import type { operations } from '#openapi/volume.gen.ts'
import {
  removeTypeSpec,
  setTypeSpec,
  setTypeSpecs,
  showTypeSpec,
  visibleSpecs,
} from '../../app/volumes/type-specs.ts'
import { showType } from '../../app/volumes/types.ts'
import type { Handler } from '../../http/operation.ts'

const createTypeExtraSpecs: Handler<operations['createTypeExtraSpecs']> = async (call) => {
  const { app, context, params, body } = call
  await setTypeSpecs(app.db, context, params.type_id, body.extra_specs)
  return { body: { extra_specs: body.extra_specs } }
}

const deleteTypeExtraSpec: Handler<operations['deleteTypeExtraSpec']> = async (call) => {
  const { app, context, params } = call
  await removeTypeSpec(app.db, context, params.type_id, params.key)
  return {}
}

const listTypeExtraSpecs: Handler<operations['listTypeExtraSpecs']> = async (call) => {
  const { app, context, params } = call
  const type = await showType(app.db, context, params.type_id)
  return { body: { extra_specs: visibleSpecs(context, type) } }
}

const showTypeExtraSpec: Handler<operations['showTypeExtraSpec']> = async (call) => {
  const { app, context, params } = call
  const value = await showTypeSpec(app.db, context, params.type_id, params.key)
  return { body: { [params.key]: value } }
}

const updateTypeExtraSpec: Handler<operations['updateTypeExtraSpec']> = async (call) => {
  const { app, context, params, body } = call
  await setTypeSpec(app.db, context, params.type_id, { key: params.key, specs: body })
  return { body }
}

export const typeExtraSpecHandlers = {
  createTypeExtraSpecs,
  deleteTypeExtraSpec,
  listTypeExtraSpecs,
  showTypeExtraSpec,
  updateTypeExtraSpec,
}
