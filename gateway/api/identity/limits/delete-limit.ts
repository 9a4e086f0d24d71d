import type { operations } from '#openapi/identity.gen.ts'
import { removeOwnLimit } from '../../../app/identity/limits/change-own-limits.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['deleteLimit']

/** DELETE /v3/limits/{limit_id} */
export async function deleteLimit({ app, params }: Call<Op>): Promise<Answer<Op>> {
  await removeOwnLimit(app.identity, params.limit_id)
  return {}
}
