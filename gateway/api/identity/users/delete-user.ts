import type { operations } from '#openapi/identity.gen.ts'
import { removeUser } from '../../../app/identity/change-users.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['deleteUser']

/** DELETE /v3/users/{user_id} */
export async function deleteUser({ app, context, params }: Call<Op>): Promise<Answer<Op>> {
  await removeUser(app.identity, context, params.user_id)
  return {}
}
