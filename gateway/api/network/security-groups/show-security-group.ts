import type { operations } from '#openapi/network.gen.ts'
import { ownSecurityGroup } from '../../../app/networks/visible.ts'
import type { Handler } from '../../../http/operation.ts'
import { securityGroupView } from '../../../views/network/security-group.ts'
import { pick } from '../pick.ts'

/** GET /v2.0/security-groups/{security_group_id} */
export const showSecurityGroup: Handler<operations['showSecurityGroup']> = async (call) => {
  const { app, context, params, query } = call
  const found = await ownSecurityGroup(app.networks, context, params.security_group_id)
  return { body: { security_group: pick(securityGroupView(found), query.fields) } }
}
