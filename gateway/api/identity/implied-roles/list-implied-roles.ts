import type { operations } from '#openapi/identity.gen.ts'
import { inferenceOf } from '../../../app/identity/roles.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { inferenceView } from '../../../views/identity/inference.ts'

type Op = operations['listImpliedRoles']

/** GET /v3/roles/{role_id}/implies */
export async function listImpliedRoles(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, links, raw } = call
  const found = await inferenceOf(app.identity, context, params.role_id)
  return {
    body: { role_inference: inferenceView(found, links), links: { self: links.to(raw.path) } },
  }
}
