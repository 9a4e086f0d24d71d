import { removeGrant } from '../../../app/identity/grants.ts'
import type { Answer } from '../../../http/operation.ts'
import { type GrantCall, grantOf } from './grant-call.ts'

/** DELETE /v3/{target}/{actor}/roles/{role_id}, for every kind of target and actor */
export async function revokeGrant(call: GrantCall): Promise<Answer> {
  await removeGrant(call.app.identity, call.context, grantOf(call), 'identity:revoke_grant')
  return {}
}
