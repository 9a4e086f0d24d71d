import type { operations } from '#openapi/compute.gen.ts'
import { removeExtraSpec } from '../../../app/flavors/extra-specs.ts'
import type { Handler } from '../../../http/operation.ts'

export const deleteFlavorExtraSpec: Handler<operations['deleteFlavorExtraSpec']> = async (call) => {
  const { app, context, params } = call
  await removeExtraSpec(app.db, context, params.flavor_id, params.key)
  return {}
}
