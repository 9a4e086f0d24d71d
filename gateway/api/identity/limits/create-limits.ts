import type { operations } from '#openapi/identity.gen.ts'
import { createOwnLimits } from '../../../app/identity/limits/change-own-limits.ts'
import { ownerOf } from '../../../app/identity/limits/owner-of.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { limitView } from '../../../views/identity/limit.ts'

type Op = operations['createLimits']

/** POST /v3/limits */
export async function createLimits({ app, body, links }: Call<Op>): Promise<Answer<Op>> {
  const asked = body.limits.map((limit) => ({
    resource: {
      serviceId: limit.service_id,
      regionId: limit.region_id ?? null,
      name: limit.resource_name,
    },
    owner: ownerOf(limit.project_id ?? null, limit.domain_id ?? null),
    resourceLimit: limit.resource_limit,
    description: limit.description ?? null,
  }))
  const made = await createOwnLimits(app.identity, asked)
  return { body: { limits: made.map((it) => limitView(it, links)) } }
}
