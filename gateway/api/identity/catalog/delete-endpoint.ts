import type { operations } from '#openapi/identity.gen.ts'
import { removeEndpoint } from '../../../app/identity/change-catalog.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['deleteEndpoint']

/** DELETE /v3/endpoints/{endpoint_id} */
export async function deleteEndpoint({ app, params }: Call<Op>): Promise<Answer<Op>> {
  await removeEndpoint(app.identity, params.endpoint_id)
  return {}
}
