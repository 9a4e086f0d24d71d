import type { UserOptions as OptionsBody, operations, UserChange } from '#openapi/identity.gen.ts'
import type { Extra } from '../../app/identity/model.ts'
import {
  allUsers,
  type ChangedOptions,
  changeUser,
  createUser as makeUser,
  oneUser,
  removeUser,
  changePassword as replacePassword,
} from '../../app/identity/users.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { userView } from '../../views/identity/user.ts'
import { listBody } from './list-body.ts'
import { listQuery } from './list-query.ts'

/** POST /v3/users/{user_id}/password */
export async function changePassword({
  app,
  params,
  body,
  raw,
}: Call<operations['changePassword']>): Promise<Answer<operations['changePassword']>> {
  const { original_password: original, password } = body.user
  await replacePassword(app.identity, params.user_id, { original, password }, raw.peer())
  return {}
}

/** POST /v3/users */
export async function createUser(
  call: Call<operations['createUser']>,
): Promise<Answer<operations['createUser']>> {
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

/** DELETE /v3/users/{user_id} */
export async function deleteUser({
  app,
  context,
  params,
}: Call<operations['deleteUser']>): Promise<Answer<operations['deleteUser']>> {
  await removeUser(app.identity, context, params.user_id)
  return {}
}

/** GET /v3/users */
export async function listUsers(
  call: Call<operations['listUsers']>,
): Promise<Answer<operations['listUsers']>> {
  const { app, context, query, links } = call
  const found = await allUsers(app.identity, context, listQuery(query))
  return { body: listBody(call, 'users', found, (it) => userView(it, links)) }
}

/** GET /v3/users/{user_id} */
export async function showUser(
  call: Call<operations['showUser']>,
): Promise<Answer<operations['showUser']>> {
  const { app, context, params, links } = call
  const found = await oneUser(app.identity, context, params.user_id)
  return { body: { user: userView(found, links) } }
}

/** PATCH /v3/users/{user_id} */
export async function updateUser(
  call: Call<operations['updateUser']>,
): Promise<Answer<operations['updateUser']>> {
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

/** The options given; null means what they are without being set. */
function userOptions(options: OptionsBody | undefined): ChangedOptions {
  return Object.fromEntries(
    Object.entries(options ?? {}).map(([name, value]) => [name, value ?? undefined]),
  )
}

/** The client's own properties: all but the known ones. */
function userExtra({
  name: _name,
  password: _password,
  email: _email,
  description: _description,
  enabled: _enabled,
  options: _options,
  domain_id: _domain,
  default_project_id: _project,
  ...extra
}: UserChange): Extra {
  return extra
}
