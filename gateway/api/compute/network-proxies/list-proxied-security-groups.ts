import type { operations } from '#openapi/compute.gen.ts'
import { listProxiedGroups } from '../../../app/networks/list-proxied-groups.ts'
import type { Handler } from '../../../http/operation.ts'
import { proxiedGroupView } from '../../../views/proxied-security-group.ts'

/** GET /os-security-groups */
export const listProxiedSecurityGroups: Handler<operations['listProxiedSecurityGroups']> = async (
  call,
) => {
  const { app, context, query } = call
  const { groups, remotes } = await listProxiedGroups(app.networks, context, query)
  return { body: { security_groups: groups.map((group) => proxiedGroupView(group, remotes)) } }
}
