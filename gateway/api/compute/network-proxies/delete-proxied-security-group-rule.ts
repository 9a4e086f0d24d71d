import type { operations } from '#openapi/compute.gen.ts'
import { asComputeSays } from '../../../app/networks/proxied-groups.ts'
import { deleteSecurityGroupRule } from '../../../app/networks/security-group-rules.ts'
import type { Handler } from '../../../http/operation.ts'

/** DELETE /os-security-group-rules/{rule_id} */
export const deleteProxiedSecurityGroupRule: Handler<
  operations['deleteProxiedSecurityGroupRule']
> = async (call) => {
  const { app, context, params } = call
  await asComputeSays(deleteSecurityGroupRule(app.networks, context, params.rule_id))
  return {}
}
