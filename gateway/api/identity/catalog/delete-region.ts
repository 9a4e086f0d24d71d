import type { operations } from '#openapi/identity.gen.ts'
import { removeRegion } from '../../../app/identity/change-catalog.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['deleteRegion']

/** DELETE /v3/regions/{region_id} */
export async function deleteRegion({ app, params }: Call<Op>): Promise<Answer<Op>> {
  await removeRegion(app.identity, params.region_id)
  return {}
}
