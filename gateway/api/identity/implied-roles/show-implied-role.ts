import type { operations } from '#openapi/identity.gen.ts'
import { oneInference } from '../../../app/identity/roles.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { inferredRole } from '../../../views/identity/inference.ts'

type Op = operations['showImpliedRole']

/** GET /v3/roles/{role_id}/implies/{implied_role_id} */
export async function showImpliedRole(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, links, raw } = call
  const { role_id, implied_role_id } = params
  const found = await oneInference(app.identity, context, role_id, implied_role_id)
  return {
    body: {
      role_inference: {
        prior_role: inferredRole(found.prior, links),
        implies: inferredRole(found.implied, links),
      },
      links: { self: links.to(raw.path) },
    },
  }
}
