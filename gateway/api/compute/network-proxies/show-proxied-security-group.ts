import type { operations } from '#openapi/compute.gen.ts'
import { showProxiedGroup } from '../../../app/networks/proxied-groups.ts'
import type { Handler } from '../../../http/operation.ts'
import { proxiedGroupView } from '../../../views/proxied-security-group.ts'

/** GET /os-security-groups/{group_id} */
export const showProxiedSecurityGroup: Handler<operations['showProxiedSecurityGroup']> = async (
  call,
) => {
  const { app, context, params } = call
  const { group, remotes } = await showProxiedGroup(app.networks, context, params.group_id)
  return { body: { security_group: proxiedGroupView(group, remotes) } }
}
