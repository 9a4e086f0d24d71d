import type { operations } from '#openapi/identity.gen.ts'
import { removeDomain } from '../../../app/identity/change-domains.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['deleteDomain']

/** DELETE /v3/domains/{domain_id} */
export async function deleteDomain({ app, params }: Call<Op>): Promise<Answer<Op>> {
  await removeDomain(app.identity, params.domain_id)
  return {}
}
