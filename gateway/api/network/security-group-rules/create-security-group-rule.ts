import type { operations } from '#openapi/network.gen.ts'
import { createSecurityGroupRules } from '../../../app/networks/security-group-rules.ts'
import type { Handler } from '../../../http/operation.ts'
import { ruleView } from '../../../views/network/security-group-rule.ts'
import { oneOrSeveral } from '../one-or-several.ts'

/** POST /v2.0/security-group-rules */
export const createSecurityGroupRule: Handler<operations['createSecurityGroupRule']> = async ({
  app,
  context,
  body,
}) => {
  const { security_group_rule: one, security_group_rules: several } = body
  const answer = await oneOrSeveral({ one, several }, async (drafts) => {
    const made = await createSecurityGroupRules(app.networks, context, drafts)
    return made.map(ruleView)
  })
  return { body: { security_group_rule: answer.one, security_group_rules: answer.several } }
}
