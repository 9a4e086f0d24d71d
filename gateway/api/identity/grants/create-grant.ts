import { addGrant } from '../../../app/identity/grants.ts'
import type { Answer } from '../../../http/operation.ts'
import { type GrantCall, grantOf } from './grant-call.ts'

/** PUT /v3/{target}/{actor}/roles/{role_id}, for every kind of target and actor */
export async function createGrant(call: GrantCall): Promise<Answer> {
  await addGrant(call.app.identity, call.context, grantOf(call), 'identity:create_grant')
  return {}
}
