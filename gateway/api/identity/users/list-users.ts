import type { operations } from '#openapi/identity.gen.ts'
import { allUsers } from '../../../app/identity/users.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { userView } from '../../../views/identity/user.ts'
import { listBody } from '../list-body.ts'
import { listQuery } from '../list-query.ts'

type Op = operations['listUsers']

/** GET /v3/users */
export async function listUsers(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, query, links } = call
  const found = await allUsers(app.identity, context, listQuery(query))
  return { body: listBody(call, 'users', found, (it) => userView(it, links)) }
}
