import type { operations } from '#openapi/identity.gen.ts'
import { domainsOfCaller } from '../../../app/identity/domains.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { domainView } from '../../../views/identity/domain.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listAuthDomains']

/** GET /v3/auth/domains */
export async function listAuthDomains(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, links } = call
  const found = await domainsOfCaller(app.identity, context)
  return { body: listBody(call, 'domains', found, (it) => domainView(it, links)) }
}
