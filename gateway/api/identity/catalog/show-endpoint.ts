import type { operations } from '#openapi/identity.gen.ts'
import { catalogEntries, oneEntry } from '../../../app/identity/catalog-entries.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { endpointView } from '../../../views/identity/catalog.ts'

type Op = operations['showEndpoint']

/** GET /v3/endpoints/{endpoint_id} */
export async function showEndpoint({ app, params, links }: Call<Op>): Promise<Answer<Op>> {
  const { endpoints } = await catalogEntries(app.identity, links.root)
  const found = oneEntry(endpoints, 'endpoint', params.endpoint_id)
  return { body: { endpoint: endpointView(found, links) } }
}
