import type { operations } from '#openapi/identity.gen.ts'
import { catalogEntries, selected } from '../../../app/identity/catalog-entries.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { serviceView } from '../../../views/identity/catalog.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listServices']

/** GET /v3/services */
export async function listServices(call: Call<Op>): Promise<Answer<Op>> {
  const { app, query, links } = call
  const { services } = await catalogEntries(app.identity, links.root)
  const wanted = { name: query.name, type: query.type }
  const found = selected(services, wanted, query)
  return { body: listBody(call, 'services', found, (it) => serviceView(it, links)) }
}
