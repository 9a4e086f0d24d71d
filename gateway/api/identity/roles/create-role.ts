import type { operations } from '#openapi/identity.gen.ts'
import { createRole as makeRole } from '../../../app/identity/change-roles.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { roleView } from '../../../views/identity/role.ts'

type Op = operations['createRole']

/** POST /v3/roles */
export async function createRole({ app, body, links }: Call<Op>): Promise<Answer<Op>> {
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
