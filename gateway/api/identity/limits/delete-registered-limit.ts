import type { operations } from '#openapi/identity.gen.ts'
import { removeRegisteredLimit } from '../../../app/identity/limits/change-registered-limits.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['deleteRegisteredLimit']

/** DELETE /v3/registered_limits/{registered_limit_id} */
export async function deleteRegisteredLimit({ app, params }: Call<Op>): Promise<Answer<Op>> {
  await removeRegisteredLimit(app.identity, params.registered_limit_id)
  return {}
}
