import type { operations } from '#openapi/compute.gen.ts'
import { deleteSecurityGroup } from '../../../app/networks/change-security-group.ts'
import { asComputeSays, proxiedGroupId } from '../../../app/networks/proxied-groups.ts'
import type { Handler } from '../../../http/operation.ts'

/** DELETE /os-security-groups/{group_id} */
export const deleteProxiedSecurityGroup: Handler<operations['deleteProxiedSecurityGroup']> = async (
  call,
) => {
  const { app, context, params } = call
  await asComputeSays(deleteSecurityGroup(app.networks, context, proxiedGroupId(params.group_id)))
  return {}
}
