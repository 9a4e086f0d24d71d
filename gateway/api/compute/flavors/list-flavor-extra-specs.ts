import type { operations } from '#openapi/compute.gen.ts'
import { showFlavor } from '../../../app/flavors/show-flavor.ts'
import type { Handler } from '../../../http/operation.ts'

export const listFlavorExtraSpecs: Handler<operations['listFlavorExtraSpecs']> = async (call) => {
  const { app, context, params } = call
  const { extraSpecs } = await showFlavor(app.db, context, params.flavor_id)
  return { body: { extra_specs: extraSpecs } }
}
