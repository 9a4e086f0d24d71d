import type { operations } from '#openapi/identity.gen.ts'
import { createGroup as makeGroup } from '../../../app/identity/change-groups.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { groupView } from '../../../views/identity/group.ts'

type Op = operations['createGroup']

/** POST /v3/groups */
export async function createGroup(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, body, links } = call
  const { name, description, domain_id: domainId, ...extra } = body.group
  const fields = { name, description: description ?? '', domainId, extra }
  const group = await makeGroup(app.identity, context, fields)
  return { body: { group: groupView(group, links) } }
}
