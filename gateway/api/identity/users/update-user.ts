import type { operations } from '#openapi/identity.gen.ts'
import { changeUser } from '../../../app/identity/change-users.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { userView } from '../../../views/identity/user.ts'
import { userExtra, userOptions } from './user-fields.ts'

type Op = operations['updateUser']

/** PATCH /v3/users/{user_id} */
export async function updateUser(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, body, links } = call
  const { name, password, email, description, enabled, options, domain_id, default_project_id } =
    body.user
  const user = await changeUser(app.identity, context, params.user_id, {
    ...(name !== undefined && { name }),
    ...(password !== undefined && { password }),
    ...(email !== undefined && { email }),
    ...(description !== undefined && { description: description ?? '' }),
    ...(enabled !== undefined && { enabled }),
    ...(default_project_id !== undefined && { defaultProjectId: default_project_id }),
    domainId: domain_id,
    options: userOptions(options),
    extra: userExtra(body.user),
  })
  return { body: { user: userView(user, links) } }
}
