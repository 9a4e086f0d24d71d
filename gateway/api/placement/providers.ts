import type { operations } from '#openapi/placement.gen.ts'
import { providerAllocations } from '../../app/placement/allocations.ts'
import { findProvider, listProviders as list } from '../../app/placement/list-providers.ts'
import type { Provider } from '../../app/placement/provider.ts'
import { setProviderTraits as setTraits } from '../../app/placement/provider-traits.ts'
import { refuseAggregates } from '../../app/placement/refuse-aggregates.ts'
import type { Handler } from '../../http/operation.ts'
import { providerAllocationsView } from '../../views/placement/allocations.ts'
import { freshness } from '../../views/placement/freshness.ts'
import { providerView, usagesView } from '../../views/placement/provider.ts'

/** GET /resource_providers/{uuid}/aggregates */
export const listProviderAggregates: Handler<operations['listProviderAggregates']> = async ({
  app,
  params,
}) => {
  const { aggregates, generation } = await findProvider(app.db, params.uuid)
  const body = { aggregates, resource_provider_generation: generation }
  return { body, headers: freshness(Date.now()) }
}

/** PUT /resource_providers/{uuid}/aggregates */
export const setProviderAggregates: Handler<operations['setProviderAggregates']> = ({
  app,
  params,
}) => refuseAggregates(app.db, params.uuid)

/** GET /resource_providers/{uuid}/allocations */
export const listProviderAllocations: Handler<operations['listProviderAllocations']> = async ({
  app,
  params,
}) => {
  const { provider, allocations } = await providerAllocations(app.db, params.uuid)
  return { body: providerAllocationsView(provider, allocations), headers: freshness(Date.now()) }
}

/** GET /resource_providers/{uuid}/traits */
export const listProviderTraits: Handler<operations['listProviderTraits']> = async ({
  app,
  params,
}) => {
  const provider = await findProvider(app.db, params.uuid)
  return { body: traitsView(provider), headers: freshness(Date.now()) }
}

/** PUT /resource_providers/{uuid}/traits */
export const setProviderTraits: Handler<operations['setProviderTraits']> = async ({
  app,
  params,
  body,
}) => {
  const { traits, resource_provider_generation: generation } = body
  const provider = await setTraits(app.compute, params.uuid, generation, traits)
  return { body: traitsView(provider), headers: freshness(Date.now()) }
}

/** DELETE /resource_providers/{uuid}/traits */
export const deleteProviderTraits: Handler<operations['deleteProviderTraits']> = async ({
  app,
  params,
}) => {
  await setTraits(app.compute, params.uuid, undefined, [])
  return {}
}

function traitsView({ traits, generation }: Provider) {
  return { traits, resource_provider_generation: generation }
}

/** GET /resource_providers/{uuid}/usages */
export const listProviderUsages: Handler<operations['listProviderUsages']> = async ({
  app,
  params,
}) => {
  const provider = await findProvider(app.db, params.uuid)
  const { generation } = provider
  const body = { usages: usagesView(provider), resource_provider_generation: generation }
  return { body, headers: freshness(Date.now()) }
}

/** GET /resource_providers */
export const listProviders: Handler<operations['listProviders']> = async ({
  app,
  context,
  query,
}) => {
  const providers = await list(app.db, query)
  const views = providers.map((provider) => providerView(provider, context))
  return { body: { resource_providers: views }, headers: freshness(Date.now()) }
}

/** GET /resource_providers/{uuid} */
export const showProvider: Handler<operations['showProvider']> = async ({
  app,
  context,
  params,
}) => {
  const provider = await findProvider(app.db, params.uuid)
  return { body: providerView(provider, context), headers: freshness(Date.now()) }
}
