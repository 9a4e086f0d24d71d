import type { operations } from '#openapi/identity.gen.ts'
import { changeRegisteredLimit } from '../../../app/identity/limits/change-registered-limits.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { registeredLimitView } from '../../../views/identity/limit.ts'

type Op = operations['updateRegisteredLimit']

/** PATCH /v3/registered_limits/{registered_limit_id} */
export async function updateRegisteredLimit(call: Call<Op>): Promise<Answer<Op>> {
  const { app, params, body, links } = call
  const { service_id, region_id, resource_name, default_limit, description } = body.registered_limit
  const changed = await changeRegisteredLimit(app.identity, params.registered_limit_id, {
    resource: {
      ...(service_id !== undefined && { serviceId: service_id }),
      ...(region_id !== undefined && { regionId: region_id }),
      ...(resource_name !== undefined && { name: resource_name }),
    },
    ...(default_limit !== undefined && { defaultLimit: default_limit }),
    ...(description !== undefined && { description }),
  })
  return { body: { registered_limit: registeredLimitView(changed, links) } }
}
