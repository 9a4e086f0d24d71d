import type { operations } from '#openapi/network.gen.ts'
import { deleteSecurityGroup as remove } from '../../../app/networks/change-security-group.ts'
import type { Handler } from '../../../http/operation.ts'
import { wantedRevision } from '../wanted-revision.ts'

/** DELETE /v2.0/security-groups/{security_group_id} */
export const deleteSecurityGroup: Handler<operations['deleteSecurityGroup']> = async (call) => {
  const { app, context, params, raw } = call
  await remove(app.networks, context, params.security_group_id, wantedRevision(raw))
  return {}
}
