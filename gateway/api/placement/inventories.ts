import type { components, operations } from '#openapi/placement.gen.ts'
import { changeInventories, type WantedInventory } from '../../app/placement/change-inventories.ts'
import { findProvider, providerInventory } from '../../app/placement/list-providers.ts'
import type { Provider } from '../../app/placement/provider.ts'
import type { Handler } from '../../http/operation.ts'
import { freshness } from '../../views/placement/freshness.ts'
import { inventoriesView, inventoryView } from '../../views/placement/provider.ts'
import { isSince } from '../../views/since.ts'

/** GET /resource_providers/{uuid}/inventories */
export const listInventories: Handler<operations['listInventories']> = async ({ app, params }) => {
  const provider = await findProvider(app.db, params.uuid)
  return { body: allView(provider), headers: freshness(Date.now()) }
}

/** PUT /resource_providers/{uuid}/inventories */
export const updateInventories: Handler<operations['updateInventories']> = async ({
  app,
  context,
  params,
  body,
}) => {
  const { inventories, resource_provider_generation: generation } = body
  const wanted = Object.entries(inventories).map(([name, of]) => [name, wantedOf(of)] as const)
  const provider = await changeInventories(app.compute, params.uuid, {
    generation,
    inventories: new Map(wanted),
    isAll: true,
    mayReserveAll: isSince(context, '1.26'),
  })
  return { body: allView(provider), headers: freshness(Date.now()) }
}

/** GET /resource_providers/{uuid}/inventories/{resource_class} */
export const showInventory: Handler<operations['showInventory']> = async ({ app, params }) => {
  const { uuid, resource_class: name } = params
  const { provider, inventory } = await providerInventory(app.db, uuid, name)
  const { generation } = provider
  const body = { ...inventoryView(inventory), resource_provider_generation: generation }
  return { body, headers: freshness(Date.now()) }
}

/** PUT /resource_providers/{uuid}/inventories/{resource_class} */
export const updateInventory: Handler<operations['updateInventory']> = async ({
  app,
  context,
  params,
  body,
}) => {
  const { uuid, resource_class: name } = params
  const { inventories, generation } = await changeInventories(app.compute, uuid, {
    generation: body.resource_provider_generation,
    inventories: new Map([[name, wantedOf(body)]]),
    isAll: false,
    mayReserveAll: isSince(context, '1.26'),
  })
  const shown = inventoryView(inventories.get(name)!)
  return {
    body: { ...shown, resource_provider_generation: generation },
    headers: freshness(Date.now()),
  }
}

function allView(provider: Provider) {
  const { generation } = provider
  return { inventories: inventoriesView(provider), resource_provider_generation: generation }
}

function wantedOf(asked: components['schemas']['WantedInventory']): WantedInventory {
  const { total, reserved = 0, min_unit, max_unit, step_size, allocation_ratio } = asked
  return {
    total,
    reserved,
    minUnit: min_unit,
    maxUnit: max_unit,
    stepSize: step_size,
    allocationRatio: allocation_ratio,
  }
}
