import type { operations } from '#openapi/identity.gen.ts'
import { changeOwnLimit } from '../../../app/identity/limits/change-own-limits.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { limitView } from '../../../views/identity/limit.ts'

type Op = operations['updateLimit']

/** PATCH /v3/limits/{limit_id} */
export async function updateLimit({ app, params, body, links }: Call<Op>): Promise<Answer<Op>> {
  const { resource_limit, description } = body.limit
  const changed = await changeOwnLimit(app.identity, params.limit_id, {
    ...(resource_limit !== undefined && { resourceLimit: resource_limit }),
    ...(description !== undefined && { description }),
  })
  return { body: { limit: limitView(changed, links) } }
}
