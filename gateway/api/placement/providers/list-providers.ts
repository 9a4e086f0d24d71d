import type { operations } from '#openapi/placement.gen.ts'
import { listProviders as list } from '../../../app/placement/list-providers.ts'
import type { Handler } from '../../../http/operation.ts'
import { freshness } from '../../../views/placement/freshness.ts'
import { providerView } from '../../../views/placement/provider.ts'

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
