import type { operations } from '#openapi/compute.gen.ts'
import { setExtraSpecs } from '../../../app/flavors/extra-specs.ts'
import type { Handler } from '../../../http/operation.ts'
import { isSince } from '../../../views/since.ts'

type Operation = operations['createFlavorExtraSpecs']

export const createFlavorExtraSpecs: Handler<Operation> = async (call) => {
  const { app, context, params, body } = call
  const isChecked = isSince(context, '2.86')
  await setExtraSpecs(app.db, params.flavor_id, body.extra_specs, isChecked)
  return { body: { extra_specs: body.extra_specs } }
}
