import type { operations } from '#openapi/identity.gen.ts'
import { catalogEntries, selected } from '../../../app/identity/catalog-entries.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { endpointView } from '../../../views/identity/catalog.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listEndpoints']

/** GET /v3/endpoints */
export async function listEndpoints(call: Call<Op>): Promise<Answer<Op>> {
  const { app, query, links } = call
  const { endpoints } = await catalogEntries(app.identity, links.root)
  const wanted = {
    interface: query.interface,
    serviceId: query.service_id,
    regionId: query.region_id,
  }
  const found = selected(endpoints, wanted, query)
  return { body: listBody(call, 'endpoints', found, (it) => endpointView(it, links)) }
}
