import type { operations } from '#openapi/identity.gen.ts'
import { removeGroup } from '../../../app/identity/change-groups.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['deleteGroup']

/** DELETE /v3/groups/{group_id} */
export async function deleteGroup({ app, context, params }: Call<Op>): Promise<Answer<Op>> {
  await removeGroup(app.identity, context, params.group_id)
  return {}
}
