import type { operations } from '#openapi/compute.gen.ts'
import { updateSecurityGroup } from '../../../app/networks/change-security-group.ts'
import { asComputeSays, proxiedGroupId, withRemotes } from '../../../app/networks/proxied-groups.ts'
import type { Handler } from '../../../http/operation.ts'
import { proxiedGroupView } from '../../../views/proxied-security-group.ts'

/** PUT /os-security-groups/{group_id} */
export const updateProxiedSecurityGroup: Handler<operations['updateProxiedSecurityGroup']> = async (
  call,
) => {
  const { app, context, params, body } = call
  const id = proxiedGroupId(params.group_id)
  const changing = updateSecurityGroup(app.networks, context, id, body.security_group)
  const group = await asComputeSays(changing)
  const { remotes } = await withRemotes(app.db, [group])
  return { body: { security_group: proxiedGroupView(group, remotes) } }
}
