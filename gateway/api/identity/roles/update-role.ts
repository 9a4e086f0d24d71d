import type { operations } from '#openapi/identity.gen.ts'
import { changeRole } from '../../../app/identity/change-roles.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { roleView } from '../../../views/identity/role.ts'
import { immutableOf } from '../immutable-of.ts'

type Op = operations['updateRole']

/** PATCH /v3/roles/{role_id} */
export async function updateRole(call: Call<Op>): Promise<Answer<Op>> {
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
