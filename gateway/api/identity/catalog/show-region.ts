import type { operations } from '#openapi/identity.gen.ts'
import { catalogEntries, oneEntry } from '../../../app/identity/catalog-entries.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { regionView } from '../../../views/identity/catalog.ts'

type Op = operations['showRegion']

/** GET /v3/regions/{region_id} */
export async function showRegion({ app, params, links }: Call<Op>): Promise<Answer<Op>> {
  const { regions } = await catalogEntries(app.identity, links.root)
  const found = oneEntry(regions, 'region', params.region_id)
  return { body: { region: regionView(found, links) } }
}
