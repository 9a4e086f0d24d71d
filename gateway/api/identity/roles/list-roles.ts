import type { operations } from '#openapi/identity.gen.ts'
import { allRoles } from '../../../app/identity/roles.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { roleView } from '../../../views/identity/role.ts'
import { listBody } from '../list-body.ts'
import { listQuery } from '../list-query.ts'

type Op = operations['listRoles']

/** GET /v3/roles */
export async function listRoles(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, query, links } = call
  const found = await allRoles(app.identity, context, listQuery(query))
  return { body: listBody(call, 'roles', found, (it) => roleView(it, links)) }
}
