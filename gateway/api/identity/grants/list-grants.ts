import { grantedAt } from '../../../app/identity/grants.ts'
import type { Answer } from '../../../http/operation.ts'
import { roleView } from '../../../views/identity/role.ts'
import { listBody } from '../list-body.ts'
import { type GrantCall, placeOf } from './grant-call.ts'

/** GET /v3/{target}/{actor}/roles, for every kind of target and actor */
export async function listGrants(call: GrantCall): Promise<Answer> {
  const { app, context, links } = call
  const found = await grantedAt(app.identity, context, placeOf(call), 'identity:list_grants')
  return { body: listBody(call, 'roles', found, (role) => roleView(role, links)) }
}
