import type { operations } from '#openapi/identity.gen.ts'
import {
  allRoles,
  changeRole,
  createRole as makeRole,
  oneRole,
  removeRole,
} from '../../app/identity/roles.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { roleView } from '../../views/identity/role.ts'
import { immutableOf } from './immutable-of.ts'
import { listBody } from './list-body.ts'
import { listQuery } from './list-query.ts'

/** POST /v3/roles */
export async function createRole({
  app,
  body,
  links,
}: Call<operations['createRole']>): Promise<Answer<operations['createRole']>> {
  const { name, description, domain_id, options, ...extra } = body.role
  const role = await makeRole(app.identity, {
    name,
    description: description ?? '',
    domainId: domain_id ?? '',
    immutable: options?.immutable ?? false,
    extra,
  })
  return { body: { role: roleView(role, links) } }
}

/** DELETE /v3/roles/{role_id} */
export async function deleteRole({
  app,
  params,
}: Call<operations['deleteRole']>): Promise<Answer<operations['deleteRole']>> {
  await removeRole(app.identity, params.role_id)
  return {}
}

/** GET /v3/roles */
export async function listRoles(
  call: Call<operations['listRoles']>,
): Promise<Answer<operations['listRoles']>> {
  const { app, context, query, links } = call
  const found = await allRoles(app.identity, context, listQuery(query))
  return { body: listBody(call, 'roles', found, (it) => roleView(it, links)) }
}

/** GET /v3/roles/{role_id} */
export async function showRole(
  call: Call<operations['showRole']>,
): Promise<Answer<operations['showRole']>> {
  const { app, context, params, links } = call
  const found = await oneRole(app.identity, context, params.role_id)
  return { body: { role: roleView(found, links) } }
}

/** PATCH /v3/roles/{role_id} */
export async function updateRole(
  call: Call<operations['updateRole']>,
): Promise<Answer<operations['updateRole']>> {
  const { app, params, body, links } = call
  const { name, description, domain_id, options, ...extra } = body.role
  const role = await changeRole(app.identity, params.role_id, {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description: description ?? '' }),
    ...(domain_id !== undefined && { domainId: domain_id ?? '' }),
    ...immutableOf(options),
    extra,
  })
  return { body: { role: roleView(role, links) } }
}
