import type { operations } from '#openapi/identity.gen.ts'
import { requireMember } from '../../../app/identity/groups.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['checkGroupUser']

/** GET /v3/groups/{group_id}/users/{user_id}, and HEAD */
export async function checkGroupUser({ app, context, params }: Call<Op>): Promise<Answer<Op>> {
  await requireMember(app.identity, context, params.group_id, params.user_id)
  return {}
}
