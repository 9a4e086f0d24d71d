import type { operations } from '#openapi/identity.gen.ts'
import { allGroups } from '../../../app/identity/groups.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { groupView } from '../../../views/identity/group.ts'
import { listBody } from '../list-body.ts'
import { listQuery } from '../list-query.ts'

type Op = operations['listGroups']

/** GET /v3/groups */
export async function listGroups(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, query, links } = call
  const found = await allGroups(app.identity, context, listQuery(query))
  return { body: listBody(call, 'groups', found, (it) => groupView(it, links)) }
}
