import type { operations } from '#openapi/identity.gen.ts'
import { changeDomain } from '../../../app/identity/change-domains.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { domainView } from '../../../views/identity/domain.ts'
import { immutableOf } from '../immutable-of.ts'

type Op = operations['updateDomain']

/** PATCH /v3/domains/{domain_id} */
export async function updateDomain(call: Call<Op>): Promise<Answer<Op>> {
  const { app, params, body, links } = call
  const { description, options, ...rest } = body.domain
  const domain = await changeDomain(app.identity, params.domain_id, {
    ...rest,
    ...(description !== undefined && { description: description ?? '' }),
    ...immutableOf(options),
  })
  return { body: { domain: domainView(domain, links) } }
}
