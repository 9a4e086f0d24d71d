import type { operations } from '#openapi/identity.gen.ts'
import { usersInGroup } from '../../../app/identity/groups.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { userView } from '../../../views/identity/user.ts'
import { listBody } from '../list-body.ts'
import { listQuery } from '../list-query.ts'

type Op = operations['listGroupUsers']

/** GET /v3/groups/{group_id}/users */
export async function listGroupUsers(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, query, links } = call
  const found = await usersInGroup(app.identity, context, params.group_id, listQuery(query))
  return { body: listBody(call, 'users', found, (it) => userView(it, links)) }
}
