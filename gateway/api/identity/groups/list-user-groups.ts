import type { operations } from '#openapi/identity.gen.ts'
import { groupsOfUser } from '../../../app/identity/groups.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { groupView } from '../../../views/identity/group.ts'
import { listBody } from '../list-body.ts'
import { listQuery } from '../list-query.ts'

type Op = operations['listUserGroups']

/** GET /v3/users/{user_id}/groups */
export async function listUserGroups(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, query, links } = call
  const found = await groupsOfUser(app.identity, context, params.user_id, listQuery(query))
  return { body: listBody(call, 'groups', found, (it) => groupView(it, links)) }
}
