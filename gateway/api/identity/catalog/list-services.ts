import type { operations } from '#openapi/identity.gen.ts'
import { catalogServices } from '../../../app/identity/catalog-entries.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { serviceView } from '../../../views/identity/catalog.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listServices']

/** GET /v3/services */
export async function listServices(call: Call<Op>): Promise<Answer<Op>> {
  const { app, query, links } = call
  const items = catalogServices(app.identity, links.root, query)
  const found = { items, isTruncated: false }
  return { body: listBody(call, 'services', found, (service) => serviceView(service, links)) }
}
