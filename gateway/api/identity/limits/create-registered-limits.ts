import type { operations } from '#openapi/identity.gen.ts'
import { createRegisteredLimits as create } from '../../../app/identity/limits/change-registered-limits.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { registeredLimitView } from '../../../views/identity/limit.ts'

type Op = operations['createRegisteredLimits']

/** POST /v3/registered_limits */
export async function createRegisteredLimits({ app, body, links }: Call<Op>): Promise<Answer<Op>> {
  const asked = body.registered_limits.map((limit) => ({
    resource: {
      serviceId: limit.service_id,
      regionId: limit.region_id ?? null,
      name: limit.resource_name,
    },
    defaultLimit: limit.default_limit,
    description: limit.description ?? null,
  }))
  const made = await create(app.identity, asked)
  return { body: { registered_limits: made.map((it) => registeredLimitView(it, links)) } }
}
