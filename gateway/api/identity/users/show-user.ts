import type { operations } from '#openapi/identity.gen.ts'
import { oneUser } from '../../../app/identity/users.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { userView } from '../../../views/identity/user.ts'

type Op = operations['showUser']

/** GET /v3/users/{user_id} */
export async function showUser(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, links } = call
  const found = await oneUser(app.identity, context, params.user_id)
  return { body: { user: userView(found, links) } }
}
