import type { operations } from '#openapi/placement.gen.ts'
import { findProvider } from '../../../app/placement/list-providers.ts'
import type { Handler } from '../../../http/operation.ts'
import { freshness } from '../../../views/placement/freshness.ts'

/** GET /resource_providers/{uuid}/traits */
export const listProviderTraits: Handler<operations['listProviderTraits']> = async ({
  app,
  params,
}) => {
  const { traits, generation } = await findProvider(app.db, params.uuid)
  const body = { traits, resource_provider_generation: generation }
  return { body, headers: freshness(Date.now()) }
}
