import type { operations } from '#openapi/identity.gen.ts'
import { allDomains } from '../../../app/identity/domains.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { domainView } from '../../../views/identity/domain.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listDomains']

/** GET /v3/domains */
export async function listDomains(call: Call<Op>): Promise<Answer<Op>> {
  const { app, query, links } = call
  const found = await allDomains(app.identity, { name: query.name, enabled: query.enabled })
  return { body: listBody(call, 'domains', found, (domain) => domainView(domain, links)) }
}
