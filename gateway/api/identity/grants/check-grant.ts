import { requireGrant } from '../../../app/identity/grants.ts'
import type { Answer } from '../../../http/operation.ts'
import { type GrantCall, grantOf } from './grant-call.ts'

/** GET /v3/{target}/{actor}/roles/{role_id}, for every kind of target and actor */
export async function checkGrant(call: GrantCall): Promise<Answer> {
  await requireGrant(call.app.identity, call.context, grantOf(call), 'identity:check_grant')
  return {}
}
