import type { operations } from '#openapi/network.gen.ts'
import { deleteSecurityGroupRule as remove } from '../../../app/networks/security-group-rules.ts'
import type { Handler } from '../../../http/operation.ts'

/** DELETE /v2.0/security-group-rules/{security_group_rule_id} */
export const deleteSecurityGroupRule: Handler<operations['deleteSecurityGroupRule']> = async (
  call,
) => {
  const { app, context, params } = call
  await remove(app.networks, context, params.security_group_rule_id)
  return {}
}
