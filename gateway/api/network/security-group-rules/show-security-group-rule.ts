import type { operations } from '#openapi/network.gen.ts'
import { visibleRule } from '../../../app/networks/security-group-rules.ts'
import type { Handler } from '../../../http/operation.ts'
import { ruleView } from '../../../views/network/security-group-rule.ts'
import { pick } from '../pick.ts'

/** GET /v2.0/security-group-rules/{security_group_rule_id} */
export const showSecurityGroupRule: Handler<operations['showSecurityGroupRule']> = async (call) => {
  const { app, context, params, query } = call
  const found = await visibleRule(app.networks, context, params.security_group_rule_id)
  return { body: { security_group_rule: pick(ruleView(found), query.fields) } }
}
