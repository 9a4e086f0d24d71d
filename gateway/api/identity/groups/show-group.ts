import type { operations } from '#openapi/identity.gen.ts'
import { oneGroup } from '../../../app/identity/groups.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { groupView } from '../../../views/identity/group.ts'

type Op = operations['showGroup']

/** GET /v3/groups/{group_id} */
export async function showGroup(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, links } = call
  const found = await oneGroup(app.identity, context, params.group_id)
  return { body: { group: groupView(found, links) } }
}
