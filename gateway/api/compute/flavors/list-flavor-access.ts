import type { operations } from '#openapi/compute.gen.ts'
import { projectsOfFlavor } from '../../../app/flavors/flavor-access.ts'
import type { Handler } from '../../../http/operation.ts'
import { flavorAccessView } from '../../../views/flavor-access.ts'

export const listFlavorAccess: Handler<operations['listFlavorAccess']> = async (call) => {
  const { app, context, params } = call
  const projectIds = await projectsOfFlavor(app.db, context, params.flavor_id)
  return { body: flavorAccessView(params.flavor_id, projectIds) }
}
