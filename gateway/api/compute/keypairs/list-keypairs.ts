import type { operations } from '#openapi/compute.gen.ts'
import { listKeypairs as listPage } from '../../../app/keypairs/list-keypairs.ts'
import type { Handler } from '../../../http/operation.ts'
import { pageLimit } from '../../../http/pagination.ts'
import { keypairSummary } from '../../../views/keypair.ts'
import { nextPageLinks } from '../page.ts'

export const listKeypairs: Handler<operations['listKeypairs']> = async (call) => {
  const { app, context, query } = call
  const limit = pageLimit(query.limit)
  const page = await listPage(app.db, context, query, limit)
  const next = nextPageLinks(call, 'keypairs_links', {
    size: page.length,
    limit,
    last: page.at(-1)?.name,
  })
  const keypairs = page.map((keypair) => ({ keypair: keypairSummary(keypair) }))
  return { body: { keypairs, ...next } }
}
