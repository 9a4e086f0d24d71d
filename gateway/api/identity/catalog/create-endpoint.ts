import type { operations } from '#openapi/identity.gen.ts'
import { createEndpoint as makeEndpoint } from '../../../app/identity/change-catalog.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { endpointView } from '../../../views/identity/catalog.ts'

type Op = operations['createEndpoint']

/** POST /v3/endpoints */
export async function createEndpoint({ app, body, links }: Call<Op>): Promise<Answer<Op>> {
  const { interface: face, url, service_id, region_id, region, enabled, ...extra } = body.endpoint
  const made = await makeEndpoint(app.identity, {
    interface: face,
    url,
    serviceId: service_id,
    regionId: region_id ?? null,
    region: region ?? undefined,
    enabled: enabled ?? true,
    extra,
  })
  return { body: { endpoint: endpointView(made, links) } }
}
