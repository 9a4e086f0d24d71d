import type { operations } from '#openapi/identity.gen.ts'
import { allRoles } from '../../../app/identity/roles.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { roleView } from '../../../views/identity/role.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listRoles']

/** GET /v3/roles */
export async function listRoles(call: Call<Op>): Promise<Answer<Op>> {
  const { app, query, links } = call
  const found = await allRoles(app.identity, query.name)
  return { body: listBody(call, 'roles', found, (role) => roleView(role, links)) }
}
