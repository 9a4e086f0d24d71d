import type { operations } from '#openapi/compute.gen.ts'
import { grantAccess } from '../../../app/flavors/flavor-access.ts'
import type { Handler } from '../../../http/operation.ts'
import { flavorAccessView } from '../../../views/flavor-access.ts'

export const addFlavorAccess: Handler<operations['addFlavorAccess']> = async (call) => {
  const { app, context, params, body } = call
  const { tenant } = body.addTenantAccess
  const projectIds = await grantAccess(app.db, context, params.flavor_id, tenant)
  return { body: flavorAccessView(params.flavor_id, projectIds) }
}
