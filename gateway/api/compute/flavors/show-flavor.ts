import type { operations } from '#openapi/compute.gen.ts'
import { showFlavor as show } from '../../../app/flavors/show-flavor.ts'
import type { Handler } from '../../../http/operation.ts'
import { flavorView } from '../../../views/flavor.ts'

export const showFlavor: Handler<operations['showFlavor']> = async (call) => {
  const { app, context, params, links } = call
  const flavor = await show(app.db, context, params.flavor_id)
  return { body: { flavor: flavorView(flavor, context, links) } }
}
