import type { operations } from '#openapi/identity.gen.ts'
import { oneOwnLimit } from '../../../app/identity/limits/read-limits.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { limitView } from '../../../views/identity/limit.ts'

type Op = operations['showLimit']

/** GET /v3/limits/{limit_id} */
export async function showLimit({ app, context, params, links }: Call<Op>): Promise<Answer<Op>> {
  const found = await oneOwnLimit(app.identity, context, params.limit_id)
  return { body: { limit: limitView(found, links) } }
}
