import type { operations } from '#openapi/identity.gen.ts'
import { removeAccessRule } from '../../../app/identity/access-rules.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['deleteAccessRule']

/** DELETE /v3/users/{user_id}/access_rules/{access_rule_id} */
export async function deleteAccessRule({ app, context, params }: Call<Op>): Promise<Answer<Op>> {
  await removeAccessRule(app.identity, context, params.user_id, params.access_rule_id)
  return {}
}
