import type { operations } from '#openapi/placement.gen.ts'
import { providerAllocations } from '../../../app/placement/allocations.ts'
import type { Handler } from '../../../http/operation.ts'
import { providerAllocationsView } from '../../../views/placement/allocations.ts'
import { freshness } from '../../../views/placement/freshness.ts'

/** GET /resource_providers/{uuid}/allocations */
export const listProviderAllocations: Handler<operations['listProviderAllocations']> = async ({
  app,
  params,
}) => {
  const { provider, allocations } = await providerAllocations(app.db, params.uuid)
  return { body: providerAllocationsView(provider, allocations), headers: freshness(Date.now()) }
}
