import type { operations } from '#openapi/identity.gen.ts'
import { accessRulesOf } from '../../../app/identity/access-rules.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { accessRuleView } from '../../../views/identity/access-rule.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listAccessRules']

/** GET /v3/users/{user_id}/access_rules */
export async function listAccessRules(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, query } = call
  const found = await accessRulesOf(app.identity, context, params.user_id, query)
  return { body: listBody(call, 'access_rules', found, accessRuleView) }
}
