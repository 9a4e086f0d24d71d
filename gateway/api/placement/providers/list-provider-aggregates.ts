import type { operations } from '#openapi/placement.gen.ts'
import { findProvider } from '../../../app/placement/list-providers.ts'
import type { Handler } from '../../../http/operation.ts'
import { freshness } from '../../../views/placement/freshness.ts'

/** GET /resource_providers/{uuid}/aggregates */
export const listProviderAggregates: Handler<operations['listProviderAggregates']> = async ({
  app,
  params,
}) => {
  const { aggregates, generation } = await findProvider(app.db, params.uuid)
  const body = { aggregates, resource_provider_generation: generation }
  return { body, headers: freshness(Date.now()) }
}
