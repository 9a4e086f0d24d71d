import type { operations } from '#openapi/compute.gen.ts'
import { setExtraSpec } from '../../../app/flavors/extra-specs.ts'
import type { Handler } from '../../../http/operation.ts'
import { isSince } from '../../../views/since.ts'

export const updateFlavorExtraSpec: Handler<operations['updateFlavorExtraSpec']> = async (call) => {
  const { app, context, params, body } = call
  const isChecked = isSince(context, '2.86')
  await setExtraSpec(app.db, params.flavor_id, { key: params.key, specs: body, isChecked })
  return { body }
}
