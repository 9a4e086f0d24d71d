import type { operations } from '#openapi/identity.gen.ts'
import { oneRegisteredLimit } from '../../../app/identity/limits/read-limits.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { registeredLimitView } from '../../../views/identity/limit.ts'

type Op = operations['showRegisteredLimit']

/** GET /v3/registered_limits/{registered_limit_id} */
export async function showRegisteredLimit({ app, params, links }: Call<Op>): Promise<Answer<Op>> {
  const found = await oneRegisteredLimit(app.identity, params.registered_limit_id)
  return { body: { registered_limit: registeredLimitView(found, links) } }
}
