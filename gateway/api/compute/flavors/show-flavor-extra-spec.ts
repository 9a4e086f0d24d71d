import type { operations } from '#openapi/compute.gen.ts'
import { showExtraSpec } from '../../../app/flavors/extra-specs.ts'
import type { Handler } from '../../../http/operation.ts'

export const showFlavorExtraSpec: Handler<operations['showFlavorExtraSpec']> = async (call) => {
  const { app, context, params } = call
  const value = await showExtraSpec(app.db, context, params.flavor_id, params.key)
  return { body: { [params.key]: value } }
}
