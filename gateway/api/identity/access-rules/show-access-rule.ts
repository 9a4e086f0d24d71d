import type { operations } from '#openapi/identity.gen.ts'
import { oneAccessRule } from '../../../app/identity/access-rules.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { accessRuleView } from '../../../views/identity/access-rule.ts'

type Op = operations['showAccessRule']

/** GET /v3/users/{user_id}/access_rules/{access_rule_id} */
export async function showAccessRule(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params } = call
  const found = await oneAccessRule(app.identity, context, params.user_id, params.access_rule_id)
  return { body: { access_rule: accessRuleView(found) } }
}
