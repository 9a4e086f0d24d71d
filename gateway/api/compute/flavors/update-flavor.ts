import type { operations } from '#openapi/compute.gen.ts'
import { describeFlavor } from '../../../app/flavors/describe-flavor.ts'
import type { Handler } from '../../../http/operation.ts'
import { flavorView } from '../../../views/flavor.ts'

export const updateFlavor: Handler<operations['updateFlavor']> = async (call) => {
  const { app, context, params, body, links } = call
  const { description } = body.flavor
  const flavor = await describeFlavor(app.db, context, params.flavor_id, description)
  return { body: { flavor: flavorView(flavor, context, links) } }
}
