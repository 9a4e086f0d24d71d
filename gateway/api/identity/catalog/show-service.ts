import type { operations } from '#openapi/identity.gen.ts'
import { catalogEntries, oneEntry } from '../../../app/identity/catalog-entries.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { serviceView } from '../../../views/identity/catalog.ts'

type Op = operations['showService']

/** GET /v3/services/{service_id} */
export async function showService({ app, params, links }: Call<Op>): Promise<Answer<Op>> {
  const { services } = await catalogEntries(app.identity, links.root)
  const found = oneEntry(services, 'service', params.service_id)
  return { body: { service: serviceView(found, links) } }
}
