import type { operations } from '#openapi/compute.gen.ts'
import { createServerGroup as create } from '../../../app/server-groups/create-server-group.ts'
import type { Handler } from '../../../http/operation.ts'
import { serverGroupView } from '../../../views/server-group.ts'

export const createServerGroup: Handler<operations['createServerGroup']> = async (call) => {
  const { app, context, body } = call
  const { name, policies, policy, rules } = body.server_group
  const group = await create(app.db, context, {
    name,
    // The document requires one of the two at every microversion.
    policy: (policy ?? policies?.[0])!,
    maxPerHost: rules?.max_server_per_host ?? null,
  })
  return { body: { server_group: serverGroupView(group) } }
}
