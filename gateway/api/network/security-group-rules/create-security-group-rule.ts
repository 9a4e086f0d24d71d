import type { operations } from '#openapi/network.gen.ts'
import { createSecurityGroupRule as create } from '../../../app/networks/security-group-rules.ts'
import type { Handler } from '../../../http/operation.ts'
import { ruleView } from '../../../views/network/security-group-rule.ts'

/** POST /v2.0/security-group-rules */
export const createSecurityGroupRule: Handler<operations['createSecurityGroupRule']> = async (
  call,
) => {
  const { app, context, body } = call
  const created = await create(app.networks, context, body.security_group_rule)
  return { body: { security_group_rule: ruleView(created) } }
}
