import type { operations } from '#openapi/identity.gen.ts'
import { catalogEntries, selected } from '../../../app/identity/catalog-entries.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { regionView } from '../../../views/identity/catalog.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listRegions']

/** GET /v3/regions */
export async function listRegions(call: Call<Op>): Promise<Answer<Op>> {
  const { app, query, links } = call
  const { regions } = await catalogEntries(app.identity, links.root)
  const wanted = { parentRegionId: query.parent_region_id }
  const found = selected(regions, wanted, query)
  return { body: listBody(call, 'regions', found, (it) => regionView(it, links)) }
}
