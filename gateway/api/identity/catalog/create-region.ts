import type { operations } from '#openapi/identity.gen.ts'
import { createRegion as makeRegion } from '../../../app/identity/change-catalog.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { regionView } from '../../../views/identity/catalog.ts'

type Op = operations['createRegion']

/** POST /v3/regions */
export async function createRegion({ app, body, links }: Call<Op>): Promise<Answer<Op>> {
  const { id, description, parent_region_id } = body.region
  const made = await makeRegion(app.identity, {
    id,
    description: description ?? '',
    parentRegionId: parent_region_id ?? null,
  })
  return { body: { region: regionView(made, links) } }
}
