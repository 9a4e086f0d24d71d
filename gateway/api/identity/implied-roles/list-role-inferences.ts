import type { operations } from '#openapi/identity.gen.ts'
import { allInferences } from '../../../app/identity/roles.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { inferenceView } from '../../../views/identity/inference.ts'

type Op = operations['listRoleInferences']

/** GET /v3/role_inferences */
export async function listRoleInferences({ app, links, raw }: Call<Op>): Promise<Answer<Op>> {
  const found = await allInferences(app.identity)
  return {
    body: {
      role_inferences: found.map((it) => inferenceView(it, links)),
      links: { self: links.to(raw.path) },
    },
  }
}
