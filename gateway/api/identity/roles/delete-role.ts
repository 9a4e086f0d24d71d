import type { operations } from '#openapi/identity.gen.ts'
import { removeRole } from '../../../app/identity/change-roles.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['deleteRole']

/** DELETE /v3/roles/{role_id} */
export async function deleteRole({ app, params }: Call<Op>): Promise<Answer<Op>> {
  await removeRole(app.identity, params.role_id)
  return {}
}
