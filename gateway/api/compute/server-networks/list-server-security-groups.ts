import type { operations } from '#openapi/compute.gen.ts'
import { serverGroups } from '../../../app/servers/server-groups-of-ports.ts'
import type { Handler } from '../../../http/operation.ts'
import { proxiedGroupView } from '../../../views/proxied-security-group.ts'

/** GET /servers/{server_id}/os-security-groups */
export const listServerSecurityGroups: Handler<operations['listServerSecurityGroups']> = async (
  call,
) => {
  const { app, context, params } = call
  const { groups, remotes } = await serverGroups(app.db, context, params.server_id)
  return { body: { security_groups: groups.map((group) => proxiedGroupView(group, remotes)) } }
}
