import type { operations } from '#openapi/identity.gen.ts'
import { changeEndpoint } from '../../../app/identity/change-catalog.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { endpointView } from '../../../views/identity/catalog.ts'

type Op = operations['updateEndpoint']

/** PATCH /v3/endpoints/{endpoint_id} */
export async function updateEndpoint(call: Call<Op>): Promise<Answer<Op>> {
  const { app, params, body, links } = call
  const { interface: face, url, service_id, region_id, region, enabled, ...extra } = body.endpoint
  const changed = await changeEndpoint(app.identity, params.endpoint_id, {
    ...(face !== undefined && { interface: face }),
    ...(url !== undefined && { url }),
    ...(service_id !== undefined && { serviceId: service_id }),
    ...(region_id !== undefined && { regionId: region_id }),
    ...(region != null && { region }),
    ...(enabled !== undefined && { enabled }),
    extra,
  })
  return { body: { endpoint: endpointView(changed, links) } }
}
