import type { operations } from '#openapi/compute.gen.ts'
import { grantAccess } from '../../../app/flavors/flavor-access.ts'
import type { Handler } from '../../../http/operation.ts'
import { flavorAccessView } from '../../../views/flavor-access.ts'
import { isSince } from '../../../views/since.ts'

export const addFlavorAccess: Handler<operations['addFlavorAccess']> = async (call) => {
  const { app, context, params, body } = call
  const { tenant } = body.addTenantAccess
  const refusesPublic = isSince(context, '2.7')
  const asked = { projectId: tenant, refusesPublic }
  const projectIds = await grantAccess(app.db, context, params.flavor_id, asked)
  return { body: flavorAccessView(params.flavor_id, projectIds) }
}
