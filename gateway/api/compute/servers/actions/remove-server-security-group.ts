import type { operations } from '#openapi/compute.gen.ts'
import { removeServerGroup } from '../../../../app/servers/change-server-groups.ts'
import type { Handler } from '../../../../http/operation.ts'

export const removeServerSecurityGroup: Handler<operations['removeServerSecurityGroup']> = async (
  call,
) => {
  const { app, context, params, body } = call
  await removeServerGroup(app.networks, context, params.server_id, body.removeSecurityGroup.name)
  return {}
}
