import type { operations } from '#openapi/identity.gen.ts'
import { removeService } from '../../../app/identity/change-catalog.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['deleteService']

/** DELETE /v3/services/{service_id} */
export async function deleteService({ app, params }: Call<Op>): Promise<Answer<Op>> {
  await removeService(app.identity, params.service_id)
  return {}
}
