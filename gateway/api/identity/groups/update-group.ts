import type { operations } from '#openapi/identity.gen.ts'
import { changeGroup } from '../../../app/identity/change-groups.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { groupView } from '../../../views/identity/group.ts'

type Op = operations['updateGroup']

/** PATCH /v3/groups/{group_id} */
export async function updateGroup(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, body, links } = call
  const { name, description, domain_id: domainId, ...extra } = body.group
  const group = await changeGroup(app.identity, context, params.group_id, {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description: description ?? '' }),
    domainId,
    extra,
  })
  return { body: { group: groupView(group, links) } }
}
