import type { operations } from '#openapi/identity.gen.ts'
import { changePassword as replacePassword } from '../../../app/identity/change-password.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['changePassword']

/** POST /v3/users/{user_id}/password */
export async function changePassword({ app, params, body, raw }: Call<Op>): Promise<Answer<Op>> {
  const { original_password: original, password } = body.user
  await replacePassword(app.identity, params.user_id, { original, password }, raw.peer())
  return {}
}
