import type { operations } from '#openapi/identity.gen.ts'
import { tokenCatalog } from '../../../app/identity/token-catalog.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { catalogView } from '../../../views/identity/catalog.ts'
import { listBody } from '../list-body.ts'

type Op = operations['showCatalog']

/** GET /v3/auth/catalog */
export async function showCatalog(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, links } = call
  const items = catalogView(await tokenCatalog(app.identity, links.root, context))
  return { body: listBody(call, 'catalog', { items, isTruncated: false }, (entry) => entry) }
}
