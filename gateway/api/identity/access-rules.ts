import type { operations } from '#openapi/identity.gen.ts'
import { accessRulesOf, oneAccessRule, removeAccessRule } from '../../app/identity/access-rules.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { accessRuleView } from '../../views/identity/access-rule.ts'
import { listBody } from './list-body.ts'

/** DELETE /v3/users/{user_id}/access_rules/{access_rule_id} */
export async function deleteAccessRule({
  app,
  context,
  params,
}: Call<operations['deleteAccessRule']>): Promise<Answer<operations['deleteAccessRule']>> {
  await removeAccessRule(app.identity, context, params.user_id, params.access_rule_id)
  return {}
}

/** GET /v3/users/{user_id}/access_rules */
export async function listAccessRules(
  call: Call<operations['listAccessRules']>,
): Promise<Answer<operations['listAccessRules']>> {
  const { app, context, params, query } = call
  const found = await accessRulesOf(app.identity, context, params.user_id, query)
  return { body: listBody(call, 'access_rules', found, accessRuleView) }
}

/** GET /v3/users/{user_id}/access_rules/{access_rule_id} */
export async function showAccessRule(
  call: Call<operations['showAccessRule']>,
): Promise<Answer<operations['showAccessRule']>> {
  const { app, context, params } = call
  const found = await oneAccessRule(app.identity, context, params.user_id, params.access_rule_id)
  return { body: { access_rule: accessRuleView(found) } }
}
