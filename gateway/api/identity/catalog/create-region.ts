import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/identity.gen.ts'
import { createRegion as makeRegion } from '../../../app/identity/change-catalog.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { regionView } from '../../../views/identity/catalog.ts'

type Create = operations['createRegion']
type Put = operations['putRegion']
type Asked = Call<Create>['body']['region']

/** POST /v3/regions */
export async function createRegion({ app, body, links }: Call<Create>): Promise<Answer<Create>> {
  const { id, fields } = fieldsOf(body.region)
  const made = await makeRegion(app.identity, { id, ...fields })
  return { body: { region: regionView(made, links) } }
}

/** PUT /v3/regions/{region_id} */
export async function putRegion(call: Call<Put>): Promise<Answer<Put>> {
  const { app, params, body, links } = call
  const { id, fields } = fieldsOf(body.region)
  if (id !== undefined && id !== params.region_id)
    throw new Failure(
      'invalid',
      `The region's id is '${id}' and not that of the URL: leave it out.`,
    )
  const made = await makeRegion(app.identity, { id: params.region_id, ...fields })
  return { body: { region: regionView(made, links) } }
}

function fieldsOf({ id, enabled: _enabled, description, parent_region_id, ...extra }: Asked) {
  const parentRegionId = parent_region_id ?? null
  return { id, fields: { description: description ?? '', parentRegionId, extra } }
}
