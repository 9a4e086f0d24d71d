import type { operations } from '#openapi/network.gen.ts'
import { createSecurityGroup as create } from '../../../app/networks/change-security-group.ts'
import type { Handler } from '../../../http/operation.ts'
import { securityGroupView } from '../../../views/network/security-group.ts'

/** POST /v2.0/security-groups */
export const createSecurityGroup: Handler<operations['createSecurityGroup']> = async (call) => {
  const { app, context, body } = call
  const created = await create(app.networks, context, body.security_group)
  return { body: { security_group: securityGroupView(created) } }
}
