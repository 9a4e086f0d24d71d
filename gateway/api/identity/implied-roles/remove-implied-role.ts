import type { operations } from '#openapi/identity.gen.ts'
import { endImplication } from '../../../app/identity/change-roles.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['removeImpliedRole']

/** DELETE /v3/roles/{role_id}/implies/{implied_role_id} */
export async function removeImpliedRole({ app, params }: Call<Op>): Promise<Answer<Op>> {
  await endImplication(app.identity, params.role_id, params.implied_role_id)
  return {}
}
