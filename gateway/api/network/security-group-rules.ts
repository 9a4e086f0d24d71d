import type { operations } from '#openapi/network.gen.ts'
import {
  createSecurityGroupRules,
  listSecurityGroupRules as listPage,
  deleteSecurityGroupRule as remove,
  visibleRule,
} from '../../app/networks/security-group-rules.ts'
import type { Handler } from '../../http/operation.ts'
import { queryPairs } from '../../http/query-pairs.ts'
import { ruleView } from '../../views/network/security-group-rule.ts'
import { pageBody } from './page-body.ts'
import { oneOrSeveral, pick } from './request.ts'

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

/** DELETE /v2.0/security-group-rules/{security_group_rule_id} */
export const deleteSecurityGroupRule: Handler<operations['deleteSecurityGroupRule']> = async (
  call,
) => {
  const { app, context, params } = call
  await remove(app.networks, context, params.security_group_rule_id)
  return {}
}

/** GET /v2.0/security-group-rules */
export const listSecurityGroupRules: Handler<operations['listSecurityGroupRules']> = async (
  call,
) => {
  const { app, context, raw } = call
  const page = await listPage(app.networks, context, queryPairs(raw.search))
  return { body: pageBody(call, 'security_group_rules', page, ruleView) }
}

/** GET /v2.0/security-group-rules/{security_group_rule_id} */
export const showSecurityGroupRule: Handler<operations['showSecurityGroupRule']> = async (call) => {
  const { app, context, params, query } = call
  const found = await visibleRule(app.networks, context, params.security_group_rule_id)
  return { body: { security_group_rule: pick(ruleView(found), query.fields) } }
}
