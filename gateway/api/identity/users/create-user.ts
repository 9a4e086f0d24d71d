import type { operations } from '#openapi/identity.gen.ts'
import { createUser as makeUser } from '../../../app/identity/change-users.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { userView } from '../../../views/identity/user.ts'
import { userExtra, userOptions } from './user-fields.ts'

type Op = operations['createUser']

/** POST /v3/users */
export async function createUser(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, body, links } = call
  const { name, password, email, description, enabled, options, domain_id, default_project_id } =
    body.user
  const user = await makeUser(app.identity, context, {
    name,
    password: password ?? null,
    email: email ?? null,
    description: description ?? '',
    enabled: enabled ?? true,
    options: userOptions(options),
    domainId: domain_id,
    defaultProjectId: default_project_id ?? null,
    extra: userExtra(body.user),
  })
  return { body: { user: userView(user, links) } }
}
