import type { operations } from '#openapi/identity.gen.ts'
import { allUsers } from '../../../app/identity/users.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { userView } from '../../../views/identity/user.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listUsers']

/** GET /v3/users */
export async function listUsers(call: Call<Op>): Promise<Answer<Op>> {
  const { app, query, links } = call
  const found = await allUsers(app.identity, {
    name: query.name,
    domainId: query.domain_id,
    enabled: query.enabled,
  })
  return { body: listBody(call, 'users', found, (user) => userView(user, links)) }
}
