import type { operations } from '#openapi/placement.gen.ts'
import { findProvider } from '../../../app/placement/list-providers.ts'
import type { Handler } from '../../../http/operation.ts'
import { freshness } from '../../../views/placement/freshness.ts'
import { providerView } from '../../../views/placement/provider.ts'

/** GET /resource_providers/{uuid} */
export const showProvider: Handler<operations['showProvider']> = async ({
  app,
  context,
  params,
}) => {
  const provider = await findProvider(app.db, params.uuid)
  return { body: providerView(provider, context), headers: freshness(Date.now()) }
}
