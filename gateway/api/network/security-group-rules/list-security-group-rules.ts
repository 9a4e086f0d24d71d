import type { operations } from '#openapi/network.gen.ts'
import { listSecurityGroupRules as listPage } from '../../../app/networks/security-group-rules.ts'
import type { Handler } from '../../../http/operation.ts'
import { queryPairs } from '../../../http/query-pairs.ts'
import { ruleView } from '../../../views/network/security-group-rule.ts'
import { pageBody } from '../page-body.ts'

/** GET /v2.0/security-group-rules */
export const listSecurityGroupRules: Handler<operations['listSecurityGroupRules']> = async (
  call,
) => {
  const { app, context, raw } = call
  const page = await listPage(app.networks, context, queryPairs(raw.search))
  return { body: pageBody(call, 'security_group_rules', page, ruleView) }
}
