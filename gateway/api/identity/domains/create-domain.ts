import type { operations } from '#openapi/identity.gen.ts'
import { createDomain as makeDomain } from '../../../app/identity/change-domains.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { domainView } from '../../../views/identity/domain.ts'

type Op = operations['createDomain']

/** POST /v3/domains */
export async function createDomain({ app, body, links }: Call<Op>): Promise<Answer<Op>> {
  const { name, description, enabled, options } = body.domain
  const domain = await makeDomain(app.identity, {
    name,
    description: description ?? '',
    enabled: enabled ?? true,
    immutable: options?.immutable ?? false,
  })
  return { body: { domain: domainView(domain, links) } }
}
