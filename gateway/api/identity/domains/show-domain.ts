import type { operations } from '#openapi/identity.gen.ts'
import { oneDomain } from '../../../app/identity/domains.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { domainView } from '../../../views/identity/domain.ts'

type Op = operations['showDomain']

/** GET /v3/domains/{domain_id} */
export async function showDomain(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, links } = call
  const found = await oneDomain(app.identity, context, params.domain_id)
  return { body: { domain: domainView(found, links) } }
}
