import type { operations } from '#openapi/network.gen.ts'
import { updateSecurityGroup as update } from '../../../app/networks/change-security-group.ts'
import type { Handler } from '../../../http/operation.ts'
import { securityGroupView } from '../../../views/network/security-group.ts'
import { wantedRevision } from '../wanted-revision.ts'

/** PUT /v2.0/security-groups/{security_group_id} */
export const updateSecurityGroup: Handler<operations['updateSecurityGroup']> = async (call) => {
  const { app, context, params, body, raw } = call
  const changed = await update(
    app.networks,
    context,
    params.security_group_id,
    body.security_group,
    wantedRevision(raw),
  )
  return { body: { security_group: securityGroupView(changed) } }
}
