import type { operations } from '#openapi/identity.gen.ts'
import { oneRole } from '../../../app/identity/roles.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { roleView } from '../../../views/identity/role.ts'

type Op = operations['showRole']

/** GET /v3/roles/{role_id} */
export async function showRole(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, links } = call
  const found = await oneRole(app.identity, context, params.role_id)
  return { body: { role: roleView(found, links) } }
}
