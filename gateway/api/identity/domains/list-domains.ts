import type { operations } from '#openapi/identity.gen.ts'
import { allDomains } from '../../../app/identity/domains.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { domainView } from '../../../views/identity/domain.ts'
import { listBody } from '../list-body.ts'
import { listQuery } from '../list-query.ts'

type Op = operations['listDomains']

/** GET /v3/domains */
export async function listDomains(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, query, links } = call
  const found = await allDomains(app.identity, context, listQuery(query))
  return { body: listBody(call, 'domains', found, (it) => domainView(it, links)) }
}
