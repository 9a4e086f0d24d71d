import type { operations } from '#openapi/compute.gen.ts'
import { revokeAccess } from '../../../app/flavors/flavor-access.ts'
import type { Handler } from '../../../http/operation.ts'
import { flavorAccessView } from '../../../views/flavor-access.ts'

export const removeFlavorAccess: Handler<operations['removeFlavorAccess']> = async (call) => {
  const { app, context, params, body } = call
  const { tenant } = body.removeTenantAccess
  const projectIds = await revokeAccess(app.db, context, params.flavor_id, tenant)
  return { body: flavorAccessView(params.flavor_id, projectIds) }
}
