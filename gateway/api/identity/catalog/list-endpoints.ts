import type { operations } from '#openapi/identity.gen.ts'
import { catalogEndpoints } from '../../../app/identity/catalog-entries.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { endpointView } from '../../../views/identity/catalog.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listEndpoints']

/** GET /v3/endpoints */
export async function listEndpoints(call: Call<Op>): Promise<Answer<Op>> {
  const { app, query, links } = call
  const filter = { interface: query.interface, serviceId: query.service_id }
  const found = { items: catalogEndpoints(app.identity, links.root, filter), isTruncated: false }
  return {
    body: listBody(call, 'endpoints', found, (it) =>
      endpointView(it.endpoint, it.serviceId, links),
    ),
  }
}
