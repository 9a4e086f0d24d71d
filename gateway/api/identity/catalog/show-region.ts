import type { operations } from '#openapi/identity.gen.ts'
import { oneRegion } from '../../../app/identity/catalog-entries.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { regionView } from '../../../views/identity/region.ts'

type Op = operations['showRegion']

/** GET /v3/regions/{region_id} */
export async function showRegion({ app, params, links }: Call<Op>): Promise<Answer<Op>> {
  return { body: { region: regionView(oneRegion(app.identity, params.region_id), links) } }
}
