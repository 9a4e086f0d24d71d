import type { operations } from '#openapi/identity.gen.ts'
import { removeMember } from '../../../app/identity/change-groups.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['removeGroupUser']

/** DELETE /v3/groups/{group_id}/users/{user_id} */
export async function removeGroupUser({ app, context, params }: Call<Op>): Promise<Answer<Op>> {
  await removeMember(app.identity, context, params.group_id, params.user_id)
  return {}
}
