import type { operations } from '#openapi/identity.gen.ts'
import { changeRegion } from '../../../app/identity/change-catalog.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { regionView } from '../../../views/identity/catalog.ts'

type Op = operations['updateRegion']

/** PATCH /v3/regions/{region_id} */
export async function updateRegion(call: Call<Op>): Promise<Answer<Op>> {
  const { app, params, body, links } = call
  const { id: _id, enabled: _enabled, description, parent_region_id, ...extra } = body.region
  const changed = await changeRegion(app.identity, params.region_id, {
    ...(description !== undefined && { description: description ?? '' }),
    ...(parent_region_id !== undefined && { parentRegionId: parent_region_id }),
    extra,
  })
  return { body: { region: regionView(changed, links) } }
}
