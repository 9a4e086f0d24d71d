import type { operations } from '#openapi/identity.gen.ts'
import { addMember } from '../../../app/identity/change-groups.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['addGroupUser']

/** PUT /v3/groups/{group_id}/users/{user_id} */
export async function addGroupUser({ app, context, params }: Call<Op>): Promise<Answer<Op>> {
  await addMember(app.identity, context, params.group_id, params.user_id)
  return {}
}
