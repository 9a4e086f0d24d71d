import type { operations } from '#openapi/placement.gen.ts'
import { providerInventory } from '../../../app/placement/list-providers.ts'
import type { Handler } from '../../../http/operation.ts'
import { freshness } from '../../../views/placement/freshness.ts'
import { inventoryView } from '../../../views/placement/provider.ts'

/** GET /resource_providers/{uuid}/inventories/{resource_class} */
export const showInventory: Handler<operations['showInventory']> = async ({ app, params }) => {
  const { uuid, resource_class: name } = params
  const { provider, inventory } = await providerInventory(app.db, uuid, name)
  const { generation } = provider
  const body = { ...inventoryView(inventory), resource_provider_generation: generation }
  return { body, headers: freshness(Date.now()) }
}
