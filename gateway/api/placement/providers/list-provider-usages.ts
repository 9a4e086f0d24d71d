import type { operations } from '#openapi/placement.gen.ts'
import { findProvider } from '../../../app/placement/list-providers.ts'
import type { Handler } from '../../../http/operation.ts'
import { freshness } from '../../../views/placement/freshness.ts'
import { usagesView } from '../../../views/placement/provider.ts'

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
